package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// The names of the WebSocket servers that the others are compared with.
const (
	FasthttpWebSocket = "fasthttp/websocket"
	WebSocketFloor    = "C epoll loop, checks nothing"
)

// webSocketFolder is the folder of the WebSocket server program. It is a module of its own, so
// that the libraries are no dependencies of the other benchmarks.
var webSocketFolder = filepath.Join("servers", "websocket")

// BuildWebSocket compiles the WebSocket server program into temp, and returns a server for each
// of its libraries. dir is the bench folder.
func BuildWebSocket(ctx context.Context, dir, temp string) ([]*Server, error) {
	binary := filepath.Join(temp, "websocket-server")
	if err := RunIn(ctx, filepath.Join(dir, webSocketFolder), "go", "build", "-o", binary, "."); err != nil {
		return nil, err
	}
	text, err := outputIn(ctx, dir, binary, serving.ListWord)
	if err != nil {
		return nil, err
	}
	var libraries []serving.Library
	if err := json.Unmarshal([]byte(text), &libraries); err != nil {
		return nil, fmt.Errorf("WebSocket libraries: %w", err)
	}
	if len(libraries) == 0 {
		return nil, errors.New("the WebSocket server has no libraries")
	}
	var servers []*Server
	for _, l := range libraries {
		version := l.Version
		if version == "" { // replaced
			version = "this tree at " + revision(ctx, dir)
		}
		servers = append(servers, &Server{
			Name: l.Name, Version: version, binary: binary, flags: []string{"-" + serving.LibraryFlag, l.Name},
		})
	}
	return servers, nil
}

// BuildWebSocketFloor compiles bench/floor/websocket.c, a loop in C that echoes messages and
// checks nothing. It is an error if there is no C compiler.
func BuildWebSocketFloor(ctx context.Context, dir, temp string) (*Server, error) {
	return buildC(ctx, dir, temp, WebSocketFloor, "websocket")
}
