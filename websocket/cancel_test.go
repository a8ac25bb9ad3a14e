package websocket

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestReadsContinueAfterCancellations ends the contexts and deadlines of reads at any moment,
// while a message arrives in small pieces: none is lost.
func TestReadsContinueAfterCancellations(t *testing.T) {
	t.Parallel()
	for _, tt := range compressions {
		for pairName, pair := range map[string]func(testing.TB) (net.Conn, net.Conn){"tcp": servertest.TCPPair, "pipe": pipe} {
			t.Run(tt.name+"/"+pairName, func(t *testing.T) {
				client, server := connPair(t, pair, &Upgrader{EnableCompression: tt.on, Compression: tt.c}, &Dialer{EnableCompression: tt.on, Compression: tt.c})
				const messages = 300
				var all sync.WaitGroup
				defer all.Wait()
				all.Go(func() {
					for i := range messages {
						p := binary.BigEndian.AppendUint32(nil, uint32(i))
						p = append(p, servertest.SampleText(i*7)...)
						w, err := client.NextWriter(BinaryMessage)
						if err != nil {
							t.Error(err)
							return
						}
						for len(p) > 0 {
							n := min(len(p), 1+rand.IntN(700))
							if _, err := w.Write(p[:n]); err != nil {
								t.Error(err)
								return
							}
							p = p[n:]
						}
						if w.Close() != nil {
							t.Error("a writer failed")
						}
						if i%5 == 0 {
							_ = client.WriteControl(PingMessage, []byte("x"), time.Time{})
						}
					}
				})
				all.Go(func() { _, _, _ = client.ReadMessage() })
				for i := 0; i < messages; {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60))*time.Microsecond)
					var p []byte
					var err error
					if i%3 == 0 {
						_ = server.SetReadDeadline(time.Now().Add(time.Duration(rand.IntN(60)) * time.Microsecond))
						_, p, err = server.ReadMessage()
						_ = server.SetReadDeadline(time.Time{})
					} else {
						_, p, err = server.ReadContext(ctx)
					}
					cancel()
					switch {
					case err == context.DeadlineExceeded, err != nil && netio.IsTimeout(err):
						continue
					case err != nil:
						t.Fatalf("message %d: %v", i, err)
					}
					if len(p) != 4+i*7 || binary.BigEndian.Uint32(p) != uint32(i) || !bytes.Equal(p[4:], servertest.SampleText(i*7)) {
						t.Fatalf("message %d has %d bytes", i, len(p))
					}
					i++
				}
				_ = server.CloseNow()
			})
		}
	}
}

func pipe(testing.TB) (net.Conn, net.Conn) { return bubblePair() }
