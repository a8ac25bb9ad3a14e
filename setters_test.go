package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestSettersSetTheirFields calls each method whose parameter has the type of its field.
func TestSettersSetTheirFields(t *testing.T) {
	methods := 0
	for _, owner := range []any{&Server{}, &Client{}, &HostClient{}, &FS{}, &Request{}, &Response{}, &RequestConfig{}, &TCPDialer{}} {
		v := reflect.ValueOf(owner)
		for _, field := range reflect.VisibleFields(v.Elem().Type()) {
			method := v.MethodByName("Set" + field.Name)
			if !field.IsExported() || !method.IsValid() || method.Type().NumIn() != 1 || !method.Type().In(0).AssignableTo(field.Type) {
				continue
			}
			value := reflect.New(method.Type().In(0)).Elem()
			switch value.Kind() {
			case reflect.Bool:
				value.SetBool(true)
			case reflect.Int, reflect.Int64:
				value.SetInt(7)
			case reflect.String:
				value.SetString("text")
			case reflect.Func:
				value.Set(reflect.MakeFunc(value.Type(), func([]reflect.Value) []reflect.Value { return nil }))
			case reflect.Map:
				value.Set(reflect.MakeMap(value.Type()))
			case reflect.Slice:
				value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			case reflect.Pointer:
				value.Set(reflect.New(value.Type().Elem()))
			case reflect.Interface:
				value.Set(reflect.ValueOf(struct{ CookieJar }{}))
			default:
				t.Fatalf("%T.Set%s takes %s", owner, field.Name, value.Type())
			}
			method.Call([]reflect.Value{value})
			if v.Elem().FieldByIndex(field.Index).IsZero() {
				t.Errorf("%T.Set%s has not set the field", owner, field.Name)
			}
			v.Elem().FieldByIndex(field.Index).SetZero()
			for _, other := range reflect.VisibleFields(v.Elem().Type()) {
				if other.IsExported() && !v.Elem().FieldByIndex(other.Index).IsZero() {
					t.Fatalf("%T.Set%s has set %s", owner, field.Name, other.Name)
				}
			}
			methods++
		}
	}
	if methods < 35 {
		t.Errorf("only %d methods were called", methods)
	}
}

func TestSettersConvert(t *testing.T) {
	var s Server
	for name, want := range map[string]Engine{"event": EngineEvent, "portable": EnginePortable, "auto": EngineAuto} {
		if err := s.SetEngine(name); err != nil || s.Engine != want {
			t.Errorf("%s: engine %d, %v", name, s.Engine, err)
		}
	}
	if err := s.SetEngine("steam"); err == nil || !strings.Contains(err.Error(), `"steam"`) {
		t.Errorf("an engine without that name: %v", err)
	}
	var p http.Protocols
	p.SetHTTP2(true)
	config := &http.HTTP2Config{
		MaxConcurrentStreams: 1, MaxDecoderHeaderTableSize: 2, MaxEncoderHeaderTableSize: 3, MaxReadFrameSize: 4,
		MaxReceiveBufferPerConnection: 5, MaxReceiveBufferPerStream: 6, SendPingTimeout: 7, PingTimeout: 8, WriteByteTimeout: 9,
	}
	want := HTTP2Config{
		MaxConcurrentStreams: 1, MaxDecoderHeaderTableSize: 2, MaxEncoderHeaderTableSize: 3, MaxReadFrameSize: 4,
		MaxReceiveBufferPerConnection: 5, MaxReceiveBufferPerStream: 6, SendPingTimeout: 7, PingTimeout: 8, WriteByteTimeout: 9,
		ExtendedConnect: true,
	}
	s.SetHTTP2ExtendedConnect(true)
	s.SetProtocols(&p)
	s.SetHTTP2(config)
	if !reflect.DeepEqual(s.HTTP2, want) || s.Protocols.String() != "{HTTP2}" {
		t.Errorf("%+v, %s", s.HTTP2, s.Protocols)
	}
	s.SetProtocols(nil)
	s.SetHTTP2(nil)
	if !reflect.DeepEqual(s.HTTP2, HTTP2Config{ExtendedConnect: true}) || s.Protocols != (Protocols{}) {
		t.Errorf("%+v, %s after nil", s.HTTP2, s.Protocols)
	}
	var c RequestConfig
	c.SetBodyMode(true)
	if c.BodyMode != BodyModeStream {
		t.Errorf("body mode %d", c.BodyMode)
	}
	c.SetBodyMode(false)
	if c.BodyMode != BodyModeBuffer {
		t.Errorf("body mode %d", c.BodyMode)
	}
}

func TestSettersOfStructs(t *testing.T) {
	ranges := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	shared := &ProxyProtocol{ServeOthers: true}
	s := Server{ProxyProtocol: shared}
	s.SetTrustedProxies(ranges)
	s.SetTrustedProxiesUnix(true)
	s.SetTrustedProxiesAddressField("A")
	s.SetTrustedProxiesSchemeField("S")
	s.SetTrustedProxiesHostField("H")
	if want := (TrustedProxies{Ranges: ranges, Unix: true, AddressField: "A", SchemeField: "S", HostField: "H"}); !reflect.DeepEqual(s.TrustedProxies, want) {
		t.Errorf("%+v", s.TrustedProxies)
	}
	s.SetProxyProtocol(ranges)
	s.SetProxyProtocolFromUnix(true)
	s.SetProxyProtocolTimeout(time.Second)
	if want := (&ProxyProtocol{From: ranges, FromUnix: true, ServeOthers: true, Timeout: time.Second}); !reflect.DeepEqual(s.ProxyProtocol, want) {
		t.Errorf("%+v", s.ProxyProtocol)
	}
	s.SetProxyProtocolServeOthers(false)
	if !shared.ServeOthers || shared.From != nil || s.ProxyProtocol.ServeOthers {
		t.Error("the ProxyProtocol of another server has changed, or that of this one has not")
	}
}

func TestSettersOfHooks(t *testing.T) {
	failure, refusal := errors.New("failure"), errors.New("refusal")
	var s Server
	calls := 0
	s.SetResponseReady(func(*RequestCtx) { calls++ })
	s.ResponseReady(nil)
	s.SetResponseSent(func(_ *RequestCtx, statusCode int, bytes int64, refused, err error) {
		if calls++; statusCode != 1 || bytes != 2 || refused != refusal || err != failure {
			t.Errorf("%d %d %v %v", statusCode, bytes, refused, err)
		}
	})
	sent := SentResponse{StatusCode: 1, Bytes: 2, Refused: refusal, Err: failure}
	s.ResponseSent(nil, sent)
	s.SetTraceResponseSent(func(_ *RequestCtx, statusCode int, bytes int64, refused, err error, protocol string, receiving, handling, sending time.Duration) {
		if calls++; statusCode != 1 || bytes != 2 || refused != refusal || err != failure || protocol != "P" || receiving != 3 || handling != 4 || sending != 5 {
			t.Errorf("%d %d %v %v %s %d %d %d", statusCode, bytes, refused, err, protocol, receiving, handling, sending)
		}
	})
	s.SetTraceConnEnded(func(id uint64, _ net.Conn, why string) {
		if calls++; id != 6 || why != "shutdown" {
			t.Errorf("%d %s", id, why)
		}
	})
	s.SetTraceConnAccepted(func(uint64, net.Conn) { calls++ })
	s.SetTraceTLSHandshakeDone(func(uint64, net.Conn, tls.ConnectionState, error) { calls++ })
	for _, set := range []func(func(*RequestCtx)){s.SetTraceHeadReceived, s.SetTraceBodyReceived, s.SetTraceHandlerBegins, s.SetTraceHandlerEnds} {
		set(func(*RequestCtx) { calls++ })
	}
	trace := s.Trace
	trace.ResponseSent(nil, TracedResponse{SentResponse: sent, Protocol: "P", Receiving: 3, Handling: 4, Sending: 5})
	trace.ConnEnded(6, nil, ConnEndShutdown)
	trace.ConnAccepted(1, nil)
	trace.TLSHandshakeDone(1, nil, tls.ConnectionState{}, nil)
	trace.HeadReceived(nil)
	trace.BodyReceived(nil)
	trace.HandlerBegins(nil)
	trace.HandlerEnds(nil)
	if calls != 10 {
		t.Errorf("%d calls", calls)
	}
	s.SetResponseSent(nil)
	s.SetTraceResponseSent(nil)
	s.SetTraceConnEnded(nil)
	if s.ResponseSent != nil || s.Trace.ResponseSent != nil || s.Trace.ConnEnded != nil || trace.ConnEnded == nil {
		t.Error("nil does not remove a hook of this server alone")
	}
}

// TestSettersAreFoundWithoutTheFields finds some of them as a framework does.
func TestSettersAreFoundWithoutTheFields(t *testing.T) {
	var hc HostClient
	_, proxy := any(&hc).(interface{ SetProxyAuthorization(value string) })
	_, dial := any(&hc).(interface {
		SetDialContext(value func(ctx context.Context, network, addr string) (net.Conn, error))
	})
	if !proxy || !dial {
		t.Errorf("SetProxyAuthorization is found: %t, SetDialContext: %t", proxy, dial)
	}
}
