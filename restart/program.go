//go:build unix

package restart

import (
	"os"
	"os/exec"
	"path/filepath"
)

// program is the file of new processes. It is found before the application can change the working
// directory.
var program, errProgram = programOf(os.Args)

// programOf returns the file of this process, with the name by which it was started, if there is one:
// that may be a symbolic link, which leads to another file once there is a new release.
func programOf(args []string) (string, error) {
	file, err := os.Executable()
	if err != nil || len(args) == 0 {
		return file, err
	}
	name, err := exec.LookPath(args[0])
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil || !isSameFile(name, file) {
		// the name is not one of the file
		return file, nil
	}
	return name, nil
}

func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
