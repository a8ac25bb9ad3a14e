package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is what the whole machine has and holds, in bytes.
type Memory struct {
	Total int64
	Room  int64 // free, or with pages of files that the kernel drops if it needs their place
	Slab  int64 // objects of the kernel that it cannot drop, such as sockets
}

// MachineMemory returns how the machine's memory is used at this moment.
func MachineMemory() (Memory, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return Memory{}, err
	}
	return ParseMeminfo(string(text))
}

// ParseMeminfo understands the text of /proc/meminfo.
//
// MemAvailable is of no use here: it takes the inodes of sockets for memory that
// the kernel can have back.
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
	m.Room = free + buffers + cached - shared // Cached has what is shared, which is no file's
	return m, nil
}

// FilesLeft returns how many more files all processes together may open. Those
// that may administer the system are not bound by that, and limited is false for them.
func FilesLeft() (left int, limited bool, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false, err
	}
	limited, err = parseLimited(string(status))
	if err != nil {
		return 0, false, err
	}
	text, err := os.ReadFile("/proc/sys/fs/file-nr")
	if err != nil {
		return 0, false, err
	}
	left, err = parseFileNr(string(text))
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

// parseFileNr understands the text of /proc/sys/fs/file-nr: open files, a zero, and the most.
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
	const enough = 1 << 30 // where the kernel has no limit, it is beyond an int
	return int(max(0, int64(min(most, enough))-open)), nil
}
