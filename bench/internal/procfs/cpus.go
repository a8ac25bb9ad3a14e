package procfs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AllowedCPUs returns the numbers of the processors that this process may run
// on, in ascending order.
func AllowedCPUs() ([]int, error) {
	return parsed("/proc/self/status", func(text string) ([]int, error) {
		list, err := statusField(text, "Cpus_allowed_list")
		if err != nil {
			return nil, err
		}
		return ParseCPUList(list)
	})
}

// Siblings returns the processors that share a core with cpu, itself among
// them.
func Siblings(cpu int) ([]int, error) {
	return parsed(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu), ParseCPUList)
}

// maxCPU is far more than the processors of any machine; it limits the size of a broken list.
const maxCPU = 1 << 16

// ParseCPUList parses lists such as "0-3,8,10-11".
func ParseCPUList(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("procfs: list of processors %q: %w", text, err)
		}
		last, err := strconv.ParseUint(to, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("procfs: list of processors %q: %w", text, err)
		}
		if first > last || last > maxCPU {
			return nil, fmt.Errorf("procfs: list of processors %q: bad range", text)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}
