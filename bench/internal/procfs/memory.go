package procfs

import (
	"fmt"
	"strconv"
	"strings"
)

// Memory is the memory of the whole machine, in bytes.
type Memory struct {
	Total int64
	Room  int64 // free, or with pages of files that the kernel can drop
	Slab  int64 // objects of the kernel that it cannot drop, such as sockets
}

// MachineMemory returns how the machine's memory is used at this moment.
func MachineMemory() (Memory, error) {
	return parsed("/proc/meminfo", ParseMeminfo)
}

// ParseMeminfo parses the text of /proc/meminfo.
//
// MemAvailable cannot be used: it counts the inodes of sockets as reclaimable memory.
func ParseMeminfo(text string) (Memory, error) {
	var m Memory
	var free, buffers, cached, shared int64
	for name, size := range map[string]*int64{
		"MemTotal": &m.Total, "MemFree": &free, "Buffers": &buffers, "Cached": &cached, "Shmem": &shared, "SUnreclaim": &m.Slab,
	} {
		var err error
		if *size, err = sizeField(text, name); err != nil {
			return Memory{}, err
		}
	}
	m.Room = free + buffers + cached - shared // Cached includes shared memory, which belongs to no file
	return m, nil
}

// FilesLeft returns how many more files all processes together may open. Processes with
// CAP_SYS_ADMIN have no such limit, and limited is false for them.
func FilesLeft() (left int, limited bool, err error) {
	limited, err = parsed("/proc/self/status", parseLimited)
	if err != nil {
		return 0, false, err
	}
	left, err = parsed("/proc/sys/fs/file-nr", parseFileNr)
	return left, limited, err
}

// parseLimited reports whether the process with this status lacks CAP_SYS_ADMIN.
func parseLimited(status string) (bool, error) {
	const sysAdmin = 21
	value, err := statusField(status, "CapEff")
	if err != nil {
		return false, err
	}
	capabilities, err := strconv.ParseUint(value, 16, 64)
	if err != nil {
		return false, fmt.Errorf("procfs: CapEff is %q", value)
	}
	return capabilities>>sysAdmin&1 == 0, nil
}

// parseFileNr parses the text of /proc/sys/fs/file-nr: open files, a zero, and the limit.
func parseFileNr(text string) (int, error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return 0, fmt.Errorf("procfs: file-nr is %q", text)
	}
	open, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("procfs: file-nr is %q", text)
	}
	most, err := strconv.ParseUint(fields[2], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("procfs: file-nr is %q", text)
	}
	const enough = 1 << 30 // without a limit the number does not fit into an int
	return int(max(0, int64(min(most, enough))-open)), nil
}
