package sse_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/sse"
)

// serveInMemory serves a handler in memory, and returns a client for it.
func serveInMemory(h fasthttp.RequestHandler) (client *fasthttp.HostClient, stop func()) {
	ln := fasthttputil.NewInmemoryListener()
	server := &fasthttp.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	client = &fasthttp.HostClient{Addr: "any.host:80", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	return client, func() {
		client.CloseIdleConnections()
		if err := errors.Join(server.Shutdown(), <-served); err != nil {
			log.Fatal(err)
		}
	}
}

// A handler counts, and ends the stream.
func ExampleServe() {
	client, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) {
		sse.Serve(ctx, func(s *sse.Stream) {
			for i := range 3 {
				if s.Send(sse.Event{ID: fmt.Sprint(i), Data: fmt.Append(nil, "number ", i)}) != nil {
					return // the client has disconnected, or the server shuts down
				}
			}
		})
	})
	defer stop()
	_, body, err := client.Get(nil, "http://any.host/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.TrimSpace(string(body)))
	// Output:
	// id: 0
	// data: number 0
	//
	// id: 1
	// data: number 1
	//
	// id: 2
	// data: number 2
}

// A stream with callbacks needs no goroutine. Here an event in OnOpen is all that it sends.
func ExampleOpen() {
	client, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) {
		sse.Open(ctx, sse.Handler{
			OnOpen: func(s *sse.Stream) {
				_ = s.Send(sse.Event{Data: []byte("welcome")})
				s.Close()
			},
		})
	})
	defer stop()
	_, body, err := client.Get(nil, "http://any.host/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.TrimSpace(string(body)))
	// Output:
	// data: welcome
}

// A topic sends events to all clients, and the ones that a client has missed while it was
// disconnected.
func ExampleTopic() {
	topic := &sse.Topic{Keep: 100}
	for id, text := range []string{"zero", "one", "two"} {
		if err := topic.Publish(sse.Event{ID: fmt.Sprint(id), Data: []byte(text)}); err != nil {
			log.Fatal(err)
		}
	}
	options := sse.Options{
		WriteTimeout: 10 * time.Second,
		// a slow client reconnects, and gets what it has missed
		Slow: sse.SlowEnds,
	}
	client, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) { options.Serve(ctx, topic.Serve) })
	defer stop()

	source := sse.Source{URL: "http://any.host/", Client: client, LastEventID: "0"}
	for event, err := range source.Events(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", event.ID, event.Data)
		if event.ID == "2" {
			break
		}
	}
	// Output:
	// 1: one
	// 2: two
}

// An event is sent to all streams of a topic, here when one of them joins.
func ExampleTopic_Publish() {
	var topic sse.Topic
	client, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) {
		sse.Serve(ctx, func(s *sse.Stream) {
			topic.Join(s)
			err := topic.Publish(sse.Event{Name: "clients", Data: fmt.Append(nil, topic.Len())})
			if err != nil {
				log.Print(err)
			}
			<-s.Done()
		})
	})
	defer stop()
	source := sse.Source{URL: "http://any.host/", Client: client}
	for event, err := range source.Events(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", event.Name, event.Data)
		break
	}
	// Output: clients: 1
}

// A server ends the stream for good with status 204.
func ExampleRead() {
	client, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Request.Header.Peek("Last-Event-ID")) == "last" {
			ctx.SetStatusCode(fasthttp.StatusNoContent)
			return
		}
		sse.Options{Retry: time.Millisecond}.Serve(ctx, func(s *sse.Stream) {
			_ = s.Send(sse.Event{ID: "last", Name: "news", Data: []byte("two\nlines")})
		})
	})
	defer stop()
	err := sse.Read(context.Background(), client, "http://any.host/", func(e sse.Event) error {
		fmt.Printf("%s: %q\n", e.Name, e.Data)
		return nil
	})
	fmt.Println("the error is", err)
	// Output:
	// news: "two\nlines"
	// the error is <nil>
}
