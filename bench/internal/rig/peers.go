package rig

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The names of the servers in bench/servers/peers, with the module of each, and in
// bench/servers/rust, with the crate.
var (
	goPeers   = [][2]string{{"hertz", "github.com/cloudwego/hertz"}, {"nbio", "github.com/lesismal/nbio"}}
	rustPeers = [][2]string{{"hyper", "hyper"}, {"actix", "actix-web"}}
)

// builder compiles servers of other libraries.
type builder struct {
	dir, temp string // the bench folder, and one for files

	servers []*Server
	missing []string // the servers that cannot be built, each with the reason
}

// BuildPeers compiles the servers of other libraries, and finds nginx. temp is for their files.
// The servers that cannot be built are in missing, each with the reason.
func BuildPeers(ctx context.Context, dir, temp string) (servers []*Server, missing []string) {
	b := &builder{dir: dir, temp: temp}
	b.inGo(ctx)
	b.inRust(ctx)
	b.onH2O(ctx)
	b.onNetty(ctx)
	b.onUWebSockets(ctx)
	nginx, err := NewNginx(ctx, temp, HelloSite())
	if err != nil {
		b.missing = append(b.missing, err.Error())
	} else {
		b.servers = append(b.servers, nginx)
	}
	return b.servers, b.missing
}

// add adds a server, or the reason why there is none.
func (b *builder) add(err error, name, version, binary string, args ...string) *Server {
	if err != nil {
		b.missing = append(b.missing, name+": "+err.Error())
		return new(Server)
	}
	s := foreign(name, version, binary, args...)
	b.servers = append(b.servers, s)
	return s
}

func (b *builder) inGo(ctx context.Context) {
	binary := filepath.Join(b.temp, "go-peers")
	folder := filepath.Join(b.dir, "servers", "peers")
	err := RunIn(ctx, folder, "go", "build", "-o", binary, ".")
	for _, peer := range goPeers {
		version := ""
		if err == nil {
			version, err = outputIn(ctx, folder, "go", "list", "-m", "-f", "{{.Version}}", peer[1])
		}
		s := b.add(err, peer[0], version, binary, peer[0])
		if peer[0] == "nbio" {
			s.cannot = []Ability{TLS} // its library chooses another cipher than the others
		}
	}
}

// cargo compiles the crate in a folder, and returns the folder with its programs. It takes minutes
// to build, so the result stays for the next time.
func (b *builder) cargo(ctx context.Context, name string) (folder, programs string, err error) {
	folder = filepath.Join(b.dir, "servers", name)
	target := filepath.Join(b.dir, "results", name)
	err = RunIn(ctx, folder, "cargo", "build", "--release", "--locked", "--target-dir", target)
	return folder, filepath.Join(target, "release"), err
}

func (b *builder) inRust(ctx context.Context) {
	folder, programs, err := b.cargo(ctx, "rust")
	for _, peer := range rustPeers {
		version := ""
		if err == nil {
			version, err = outputIn(ctx, folder, "cargo", "pkgid", peer[1])
		}
		b.add(err, peer[0], crateVersion(version), filepath.Join(programs, peer[0]))
	}
}

// crateVersion returns the version in a package ID of cargo.
func crateVersion(id string) string {
	_, version, _ := strings.Cut(id[strings.LastIndexByte(id, '#')+1:], "@")
	return version
}

// onUWebSockets compiles the server on uWebSockets. Its package runs it on libuv.
func (b *builder) onUWebSockets(ctx context.Context) {
	folder, programs, err := b.cargo(ctx, "uws")
	version := ""
	if err == nil {
		version, err = outputIn(ctx, folder, "cargo", "pkgid", "libuwebsockets-sys")
	}
	if err != nil {
		err = fmt.Errorf("it needs cargo, make and, on Debian and Ubuntu, libclang-dev and libuv1-dev: %w", err)
	}
	b.add(err, "uWebSockets", "of libuwebsockets-sys "+crateVersion(version)+", on libuv", filepath.Join(programs, "uws")).cannot = []Ability{TLS}
}

// onH2O compiles the server on libh2o with its own event loop.
func (b *builder) onH2O(ctx context.Context) {
	binary := filepath.Join(b.temp, "h2o-peer")
	version, err := outputIn(ctx, b.dir, "pkg-config", "--modversion", "libh2o-evloop")
	flags := ""
	if err == nil {
		flags, err = outputIn(ctx, b.dir, "pkg-config", "--cflags", "--libs", "libh2o-evloop", "openssl")
	}
	if err == nil {
		source := filepath.Join("servers", "h2o", "h2o.c")
		err = RunIn(ctx, b.dir, "cc", append([]string{"-O2", "-Wall", "-o", binary, source}, strings.Fields(flags)...)...)
	}
	if err != nil {
		err = fmt.Errorf("it needs libh2o; on Debian and Ubuntu, sudo apt-get install libh2o-evloop-dev libssl-dev: %w", err)
	}
	b.add(err, H2O, "with libh2o "+version, binary)
}

// nettyVersion is the element of servers/netty/pom.xml with netty's version, which is first.
const nettyVersion = "netty-codec-http"

// onNetty compiles the server on netty.
func (b *builder) onNetty(ctx context.Context) {
	folder, target := filepath.Join(b.dir, "servers", "netty"), filepath.Join(b.dir, "results", "netty")
	libraries := filepath.Join(target, "libraries")
	err := RunIn(ctx, folder, "mvn", "-q", "-B", "-Dtarget="+target, "compile", "dependency:copy-dependencies", "-DoutputDirectory="+libraries)
	version := ""
	if err == nil {
		var found []string
		if found, err = filepath.Glob(filepath.Join(libraries, nettyVersion+"-*.jar")); len(found) > 0 {
			version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), nettyVersion+"-"), ".jar")
		}
	}
	classes := filepath.Join(target, "classes") + ":" + filepath.Join(libraries, "*")
	b.add(err, "netty", version, "java", "-cp", classes, "Netty").warm = 6
}

// foreign returns a server of another module. Its last arguments are its address,
// how many milliseconds its handlers wait, and, for TLS, the files of its certificate and key.
func foreign(name, version, binary string, args ...string) *Server {
	return &Server{Name: name, Version: name + " " + version, binary: binary, args: func(addr string, settings Settings) ([]string, error) {
		line := append(args[:len(args):len(args)], addr, strconv.FormatInt(int64(settings.Wait/time.Millisecond), 10))
		if id := settings.Identity; id != nil {
			line = append(line, id.Cert, id.Key)
		}
		return line, nil
	}}
}

// RunIn runs a program in a folder.
func RunIn(ctx context.Context, dir, program string, args ...string) error {
	_, err := outputIn(ctx, dir, program, args...)
	return err
}

// outputIn runs a program in a folder, and returns the first line of its output.
func outputIn(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), WithStderr(err))
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line), nil
}
