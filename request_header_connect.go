package fasthttp

import "github.com/valyala/fasthttp/internal/bytesconv"

// ConnectProtocol returns the protocol of an extended CONNECT request (RFC 8441), such as
// "websocket", or nil for any other request. The target of such a request is a path.
func (h *RequestHeader) ConnectProtocol() []byte {
	if !h.isExtended() {
		return nil
	}
	return h.text(h.slots[slotProtocol])
}

// SetConnectProtocol makes the request an extended CONNECT (RFC 8441): it asks the server to
// speak another protocol, such as "websocket", on its stream of HTTP/2 or HTTP/3. It also sets the
// method. An empty protocol makes the request a CONNECT.
//
// HostClient.Do and Client.Do send such a request over HTTP/2 and HTTP/3 only: if the server
// speaks another version, or has not announced extended CONNECT, the error is
// ErrNoExtendedConnect. After a 2xx response with Response.StreamBody, the body stream is a
// net.Conn: the tunnel. It must be closed. The time limits of the call apply to it until its SetDeadline is called.
func (h *RequestHeader) SetConnectProtocol(protocol string) {
	h.SetMethod(MethodConnect)
	h.storeSlot(slotProtocol, bytesconv.Bytes(protocol))
}
