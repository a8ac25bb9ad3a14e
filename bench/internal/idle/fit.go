package idle

import (
	"fmt"

	"github.com/valyala/fasthttp/bench/internal/procfs"
)

// bound is a limit on connections, and its cause.
type bound struct {
	conns int
	why   string
}

// least returns the lowest bound, and the first one of equal bounds.
func least(first bound, others ...bound) bound {
	for _, b := range others {
		if b.conns < first.conns {
			first = b
		}
	}
	return first
}

// networks is how many source networks 127.0.0.0/16 has. Each crowd has one.
const networks = 254

// boundOfPorts is the bound of the source addresses, if a process may have limit files open.
func boundOfPorts(limit int) bound {
	most := max(1, min(crowdConns, limit-spareFiles))
	return bound{networks * most, fmt.Sprintf("addresses: %d client processes have %d connections each", networks, most)}
}

// boundOfFiles is the bound of the files that all processes together may open. Each end of a
// connection is a file.
func boundOfFiles(left int) bound {
	return bound{max(0, left-spareFiles) / 2, fmt.Sprintf("open files: fs.file-max leaves %d, two for each connection", left)}
}

// reserve is the memory left to other programs, and to the kernel for uncounted memory.
func reserve(m procfs.Memory) int64 {
	const share, floor = 16, 1 << 30
	return max(m.Total/share, floor)
}

// boundOfMemory is the bound of memory, if a connection takes cost bytes, including its share
// of the processes at both ends.
func boundOfMemory(m procfs.Memory, cost float64) bound {
	room := max(0, m.Room-reserve(m))
	return bound{int(float64(room) / cost), fmt.Sprintf("memory: %s, beside %s for all else; a connection took %.1f KiB in a try",
		gib(room), gib(reserve(m)), cost/(1<<10))}
}

// fits reports whether memory has room for conns more connections. It tolerates a small error
// in the plan.
func fits(m procfs.Memory, conns int, cost float64) bool {
	return float64(m.Room)-float64(conns)*cost >= float64(reserve(m))/2
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
