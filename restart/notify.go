//go:build unix

package restart

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// notifyTime is how long a notification may wait for the service manager.
const notifyTime = 5 * time.Second

// Notify sends assignments such as "READY=1" or "STATUS=loading", one a line, to the service
// manager, as sd_notify does. It does nothing and returns nil if the environment does not have
// NOTIFY_SOCKET, and returns an error if the assignments cannot be sent. Runner.Run sends READY,
// STOPPING, RELOADING, MAINPID and WATCHDOG itself.
func Notify(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if name[0] != '/' && name[0] != '@' || len(name) == 1 || strings.ContainsRune(name, 0) {
		return errors.New("restart: NOTIFY_SOCKET is neither an absolute path nor an abstract address")
	}
	// package net translates "@" itself
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("restart: cannot notify the service manager: %w", err)
	}
	defer func() { _ = conn.Close() }()
	// a manager that does not read must not stop the service
	_ = conn.SetWriteDeadline(time.Now().Add(notifyTime))
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("restart: cannot notify the service manager: %w", err)
	}
	return nil
}

// reloading is the state of a process which will start a new one.
func reloading() string {
	state := "RELOADING=1"
	if now, ok := monotonic(); ok {
		state += "\nMONOTONIC_USEC=" + strconv.FormatInt(now.Microseconds(), 10)
	}
	return state
}

// watchdogTime returns how often the service manager wants to hear of this process, or 0.
func watchdogTime() (time.Duration, error) {
	text := os.Getenv("WATCHDOG_USEC")
	if pid := os.Getenv("WATCHDOG_PID"); text == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}
	usec, err := strconv.ParseInt(text, 10, 64)
	if err != nil || usec <= 0 || usec > int64(time.Duration(1<<63-1)/time.Microsecond) {
		return 0, errors.New("restart: WATCHDOG_USEC is not a time: " + strconv.Quote(text))
	}
	// twice as often as is necessary
	return time.Duration(usec) * time.Microsecond / 2, nil
}
