// Package restart replaces the process of a server by a new one, without losing a request: for a
// new binary or a new configuration. It also speaks the two protocols of systemd that matter for
// that, socket activation and sd_notify.
//
// Listen returns a listener inherited from the process before this one, or from systemd, or
// a new one. Runner.Run serves, and starts a new process when it gets a signal; the new process
// inherits the listening sockets, so no connection is ever refused. When it serves, the old one
// drains its connections and Run returns nil.
//
//	ln, err := restart.Listen("tcp", ":8080")
//	if err != nil {
//		log.Fatal(err)
//	}
//	r := &restart.Runner{Server: server}
//	if err := r.Run(ctx, ln); err != nil {
//		log.Fatal(err)
//	}
//
// The new process runs the file that has the name by which this one was started, which may be a
// symbolic link to the file of another release by then.
//
// If the new process cannot be started, ends, or does not serve in time, the reason is logged, and
// the old process continues as before the signal. The new one gets SIGTERM, and is killed if it has
// not ended within Server.ShutdownTimeout.
//
// A signal ends the process that gets it, and no other one, once the new process serves: SIGTERM for
// the old one shortens the time in which its connections end, and the new one continues. To end the
// service, signal the new process, which the service manager knows by MAINPID, or all processes of
// the service, as systemd does. A signal for the old process before the new one serves ends both.
//
// A container ends when its first process does, so a service that is the first one cannot be replaced
// inside: replace the container.
//
// docs/security.md lists everything that the new process inherits.
//
// On systems other than Unix, Listen is net.Listen, Run is Server.Run, RunTLS is Server.RunTLS,
// and Notify does nothing: there are no restarts.
package restart
