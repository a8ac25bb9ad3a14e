// Package lockorder is the order in which a goroutine takes locks: while it holds one, it waits
// only for those that follow. So goroutines cannot wait for each other in a circle. The order
// is a table in docs/architecture.md as well, which a test compares.
//
// A Mutex is an alias of sync.Mutex, and an RWMutex of sync.RWMutex. In a program for Linux that
// is built with the tag fasthttp_lockorder they are types that end the program if a lock is taken
// against the order.
package lockorder

// Lock is implemented by the types that name the locks.
type Lock interface{ place() place }

// The locks that are held together with others. All other locks of this module are leaves: while
// one of them is held nothing is taken.
type (
	ResponseWriter struct{} // fasthttpadaptor.responseWriter.mu: a response of net/http
	RequestBody    struct{} // fasthttpadaptor.requestBody.mu: reading the body
	RequestContext struct{} // fasthttpadaptor.requestContext.mu: when it ends
	WriteDeadline  struct{} // fasthttpadaptor.writeDeadline.mu: the handler's deadline
	RequestCtx     struct{} // fasthttp.RequestCtx.timeoutMu: timeout against connection
	H1Exchange     struct{} // fasthttp.h1Exchange.continueMu: 100 (Continue), once
	WatchSet       struct{} // watch.Set.mu: a server's watches
	MemorySearch   struct{} // bodymem.Memory.searching: one search only
	MemoryShard    struct{} // bodymem.shard.mu: bodies that arrive
	H2Conn         struct{} // fasthttp.h2Conn.mu: connection and exchanges
	AlertProbe     struct{} // engine.alertProbe.mu: one look only
	Wire           struct{} // tlswire.wire.mu: records being sent
	EventExtra     struct{} // engine.eventExtra.mu: addresses and deadlines
	Detached       struct{} // netloop.Detached.mu: blocking reads, writes
	ConnSet        struct{} // engine.Set.mu: listeners and shutdowns
	ConnShard      struct{} // engine.connShard.mu: lists of connections
	Handshakes     struct{} // engine.handshakeLimiter.mu: places of handshakes
	Workers        struct{} // workers.Pool.mu: idle goroutines
	LoopGroup      struct{} // netloop.Group.growing: the event loops
	SharedWrites   struct{} // engine.sharedWrites.mu: which goroutine writes
	Loop           struct{} // netloop.Loop.mu: events and pollers
	Wheel          struct{} // netloop.wheel.mu: deadlines of connections
	Server         struct{} // fasthttp.Server.mu: TLS settings
	TicketKeys     struct{} // servertls.Keys.mu: session ticket keys
	Hosts          struct{} // hostmap.Hosts.mu: a client's hosts
	HostClient     struct{} // fasthttp.HostClient.mu: MaxConns until first use
	ReadGuard      struct{} // bodyio.ReadGuard.reading: reading a stream
	SenderWrite    struct{} // sender.Sender.writing: each write
	Sender         struct{} // sender.Sender.mu: a request's content
	ConnQueue      struct{} // pipeline.ConnQueue.mu: a connection's calls
	Call           struct{} // pipeline.Call.mu: the caller's response
	H2Client       struct{} // http2client.Conn.mu: connection and calls
	Guard          struct{} // clientconn.Guard.mu: deadlines, cancellation
	AsyncWriter    struct{} // clientconn.asyncWriter.mu: bytes not accepted
	ConnPool       struct{} // connpool.Pool.mu: a host's connections
	Encoding       struct{} // files.Node.encoding: encoding, once
	NodeCache      struct{} // files.nodeCache.mu: paths looked up
	Node           struct{} // files.Node.mu: content, and variants
	EncodedCache   struct{} // files.encodedCache.mu: content encoded before
	CopyFolder     struct{} // files.copyFolder.mu: folders with copies
	FileTree       struct{} // files.confinedTree.mu: the open root
	ClockStart     struct{} // clock.Clock.starting: starting the clock
	PipeStream     struct{} // fasthttputil.stream.mu: bytes in memory
	Watch          struct{} // watch.Watch.mu: a request's cancellation
)

// place is the place of a lock in the order.
type place uint8

const (
	atResponseWriter place = iota
	atRequestBody
	atRequestContext
	atWriteDeadline
	atRequestCtx
	atH1Exchange
	atWatchSet
	atMemorySearch
	atMemoryShard
	atH2Conn
	atAlertProbe
	atWire
	atEventExtra
	atDetached
	atConnSet
	atConnShard
	atHandshakes
	atWorkers
	atLoopGroup
	atSharedWrites
	atLoop
	atWheel
	atServer
	atTicketKeys
	atHosts
	atHostClient
	atReadGuard
	atSenderWrite
	atSender
	atConnQueue
	atCall
	atH2Client
	atGuard
	atAsyncWriter
	atConnPool
	atEncoding
	atNodeCache
	atNode
	atEncodedCache
	atCopyFolder
	atFileTree
	atClockStart
	atPipeStream
	atWatch
)

func (ResponseWriter) place() place { return atResponseWriter }
func (RequestBody) place() place    { return atRequestBody }
func (RequestContext) place() place { return atRequestContext }
func (WriteDeadline) place() place  { return atWriteDeadline }
func (RequestCtx) place() place     { return atRequestCtx }
func (H1Exchange) place() place     { return atH1Exchange }
func (WatchSet) place() place       { return atWatchSet }
func (MemorySearch) place() place   { return atMemorySearch }
func (MemoryShard) place() place    { return atMemoryShard }
func (H2Conn) place() place         { return atH2Conn }
func (AlertProbe) place() place     { return atAlertProbe }
func (Wire) place() place           { return atWire }
func (EventExtra) place() place     { return atEventExtra }
func (Detached) place() place       { return atDetached }
func (ConnSet) place() place        { return atConnSet }
func (ConnShard) place() place      { return atConnShard }
func (Handshakes) place() place     { return atHandshakes }
func (Workers) place() place        { return atWorkers }
func (LoopGroup) place() place      { return atLoopGroup }
func (SharedWrites) place() place   { return atSharedWrites }
func (Loop) place() place           { return atLoop }
func (Wheel) place() place          { return atWheel }
func (Server) place() place         { return atServer }
func (TicketKeys) place() place     { return atTicketKeys }
func (Hosts) place() place          { return atHosts }
func (HostClient) place() place     { return atHostClient }
func (ReadGuard) place() place      { return atReadGuard }
func (SenderWrite) place() place    { return atSenderWrite }
func (Sender) place() place         { return atSender }
func (ConnQueue) place() place      { return atConnQueue }
func (Call) place() place           { return atCall }
func (H2Client) place() place       { return atH2Client }
func (Guard) place() place          { return atGuard }
func (AsyncWriter) place() place    { return atAsyncWriter }
func (ConnPool) place() place       { return atConnPool }
func (Encoding) place() place       { return atEncoding }
func (NodeCache) place() place      { return atNodeCache }
func (Node) place() place           { return atNode }
func (EncodedCache) place() place   { return atEncodedCache }
func (CopyFolder) place() place     { return atCopyFolder }
func (FileTree) place() place       { return atFileTree }
func (ClockStart) place() place     { return atClockStart }
func (PipeStream) place() place     { return atPipeStream }
func (Watch) place() place          { return atWatch }

// kind is a property of a lock.
type kind uint8

const (
	// outer: locks that follow are taken while it is held.
	outer kind = iota
	// nests is outer for a lock of which a goroutine may take several.
	nests
	// leaf: nothing is taken while it is held.
	leaf
)

// entry is a row of the table: the package, type and field of a lock.
type entry struct {
	name string
	kind kind
}

// order is the order of all locks.
var order = [...]entry{
	atResponseWriter: {"fasthttpadaptor.responseWriter.mu", outer},
	atRequestBody:    {"fasthttpadaptor.requestBody.mu", outer},
	atRequestContext: {"fasthttpadaptor.requestContext.mu", outer},
	atWriteDeadline:  {"fasthttpadaptor.writeDeadline.mu", outer},
	atRequestCtx:     {"fasthttp.RequestCtx.timeoutMu", nests},
	atH1Exchange:     {"fasthttp.h1Exchange.continueMu", outer},
	atWatchSet:       {"watch.Set.mu", outer},
	atMemorySearch:   {"bodymem.Memory.searching", outer},
	atMemoryShard:    {"bodymem.shard.mu", outer},
	atH2Conn:         {"fasthttp.h2Conn.mu", outer},
	atAlertProbe:     {"engine.alertProbe.mu", outer},
	atWire:           {"tlswire.wire.mu", outer},
	atEventExtra:     {"engine.eventExtra.mu", outer},
	atDetached:       {"netloop.Detached.mu", leaf},
	atConnSet:        {"engine.Set.mu", outer},
	atConnShard:      {"engine.connShard.mu", leaf},
	atHandshakes:     {"engine.handshakeLimiter.mu", outer},
	atWorkers:        {"workers.Pool.mu", leaf},
	atLoopGroup:      {"netloop.Group.growing", outer},
	atSharedWrites:   {"engine.sharedWrites.mu", leaf},
	atLoop:           {"netloop.Loop.mu", leaf},
	atWheel:          {"netloop.wheel.mu", leaf},
	atServer:         {"fasthttp.Server.mu", outer},
	atTicketKeys:     {"servertls.Keys.mu", leaf},
	atHosts:          {"hostmap.Hosts.mu", outer},
	atHostClient:     {"fasthttp.HostClient.mu", outer},
	atReadGuard:      {"bodyio.ReadGuard.reading", outer},
	atSenderWrite:    {"sender.Sender.writing", outer},
	atSender:         {"sender.Sender.mu", outer},
	atConnQueue:      {"pipeline.ConnQueue.mu", outer},
	atCall:           {"pipeline.Call.mu", leaf},
	atH2Client:       {"http2client.Conn.mu", outer},
	atGuard:          {"clientconn.Guard.mu", outer},
	atAsyncWriter:    {"clientconn.asyncWriter.mu", leaf},
	atConnPool:       {"connpool.Pool.mu", leaf},
	atEncoding:       {"files.Node.encoding", outer},
	atNodeCache:      {"files.nodeCache.mu", outer},
	atNode:           {"files.Node.mu", leaf},
	atEncodedCache:   {"files.encodedCache.mu", leaf},
	atCopyFolder:     {"files.copyFolder.mu", leaf},
	atFileTree:       {"files.confinedTree.mu", leaf},
	atClockStart:     {"clock.Clock.starting", leaf},
	atPipeStream:     {"fasthttputil.stream.mu", leaf},
	atWatch:          {"watch.Watch.mu", leaf},
}

// String returns the name of the lock.
func (p place) String() string { return order[p].name }
