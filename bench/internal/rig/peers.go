package rig

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// The names of the servers in bench/servers/peers, with the module of each, and in
// bench/servers/rust, with the crate.
var (
	goPeers   = [][2]string{{"hertz", "github.com/cloudwego/hertz"}, {"nbio", "github.com/lesismal/nbio"}}
	rustPeers = [][2]string{{"hyper", "hyper"}, {"actix", "actix-web"}}
)

// BuildPeers compiles the servers of other libraries, and finds nginx. temp is for their files.
// The servers that cannot be built are in missing, each with the reason.
func BuildPeers(ctx context.Context, dir, temp string) (servers []*Server, missing []string) {
	binary := filepath.Join(temp, "go-peers")
	folder := filepath.Join(dir, "servers", "peers")
	err := runIn(ctx, folder, "go", "build", "-o", binary, ".")
	for _, peer := range goPeers {
		name, version := peer[0], ""
		if err == nil {
			version, err = outputIn(ctx, folder, "go", "list", "-m", "-f", "{{.Version}}", peer[1])
		}
		if err != nil {
			missing = append(missing, name+": "+err.Error())
			continue
		}
		servers = append(servers, foreign(name, version, binary, name))
	}

	folder = filepath.Join(dir, "servers", "rust")
	// it takes minutes to build, so the result stays for the next time
	target := filepath.Join(dir, "results", "rust")
	err = runIn(ctx, folder, "cargo", "build", "--release", "--locked", "--target-dir", target)
	for _, peer := range rustPeers {
		name, version := peer[0], ""
		if err == nil {
			version, err = outputIn(ctx, folder, "cargo", "pkgid", peer[1])
		}
		if err != nil {
			missing = append(missing, name+": "+err.Error())
			continue
		}
		_, version, _ = strings.Cut(version[strings.LastIndexByte(version, '#')+1:], "@")
		servers = append(servers, foreign(name, version, filepath.Join(target, "release", name)))
	}

	nginx, err := NewNginx(ctx, temp, HelloSite())
	if err != nil {
		return servers, append(missing, err.Error())
	}
	return append(servers, nginx), missing
}

// foreign returns a server whose last argument is its address.
func foreign(name, version, binary string, args ...string) *Server {
	return &Server{Name: name, Version: name + " " + version, binary: binary, args: func(addr string, _ *Identity) ([]string, error) {
		return append(args[:len(args):len(args)], addr), nil
	}}
}

func runIn(ctx context.Context, dir, program string, args ...string) error {
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
