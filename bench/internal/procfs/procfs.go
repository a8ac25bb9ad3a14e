// Package procfs reads Linux's figures of processes and processors. On other systems, which
// have no /proc, its functions return errors.
package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc/PID/stat. The kernel may count in another unit
// internally, but /proc has used this one for as long as Go exists.
const tick = time.Second / 100

// CPUTime returns how long all threads of a process have run so far, in the
// kernel or out of it.
func CPUTime(pid int) (time.Duration, error) {
	return parsed(fmt.Sprintf("/proc/%d/stat", pid), ParseStat)
}

// parsed parses a file.
func parsed[T any](file string, parse func(text string) (T, error)) (value T, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return value, err
	}
	return parse(string(text))
}

// ThreadTime is CPUTime in nanoseconds, but without threads that have ended.
func ThreadTime(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("procfs: no threads of process %d: %w", pid, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("procfs: schedstat is %q", text)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// ParseStat returns user and system time from the text of /proc/PID/stat.
func ParseStat(text string) (time.Duration, error) {
	// The second field is the program's name in parentheses. Only this field may contain
	// spaces and parentheses.
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return 0, errors.New("procfs: stat has no program name")
	}
	const first = 3 // the number of the first field after the name
	fields := strings.Fields(text[end+1:])
	sum := time.Duration(0)
	for _, number := range []int{14, 15} { // utime and stime
		if number-first >= len(fields) {
			return 0, fmt.Errorf("procfs: stat has no field %d", number)
		}
		ticks, err := strconv.ParseUint(fields[number-first], 10, 53)
		if err != nil {
			return 0, fmt.Errorf("procfs: field %d of stat: %w", number, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// Resident returns how many bytes of a process are in memory.
func Resident(pid int) (int64, error) {
	return parsed(fmt.Sprintf("/proc/%d/status", pid), ParseResident)
}

// ParseResident returns VmRSS from the text of /proc/PID/status, in bytes.
func ParseResident(text string) (int64, error) {
	return sizeField(text, "VmRSS")
}

// sizeField returns a figure in bytes, which the file has in kB.
func sizeField(text, name string) (int64, error) {
	value, err := statusField(text, name)
	if err != nil {
		return 0, err
	}
	number, unit, _ := strings.Cut(value, " ")
	if unit != "kB" {
		return 0, fmt.Errorf("procfs: %s is %q, which is not in kB", name, value)
	}
	size, err := strconv.ParseInt(number, 10, 53)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("procfs: %s is %q", name, value)
	}
	return size * 1024, nil
}

func statusField(text, name string) (string, error) {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("procfs: status has no %s", name)
}

// Descriptors returns how many files and sockets a process has open.
func Descriptors(pid int) (int, error) {
	// Readdirnames does not read the target of each link, which would take long with tens of
	// thousands of them.
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return len(names), err
}
