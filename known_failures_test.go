package fasthttp

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// knownFailures are failures of HTTP libraries in the past, by number, and the tests that
// check that they do not happen here. It omits the failures of files (43 to 50), which tests
// name in their comments, and of the bridge to net/http (55). A test outside of the root
// package has its folder in front.
var knownFailures = []struct {
	number int
	what   string
	tests  []string
}{
	// framing and parsing
	{1, "bytes behind the last boundary of a form are no request", []string{"integrationtests.TestServerFramesBodies", "TestFormOnAConnection", "TestFormBodyIsDroppedBehindItsEnd"}},
	{2, "what a handler left unread of a body is no request", []string{"integrationtests.TestServerFramesBodies", "integrationtests.TestUnreadBodyIsDrainedOrEndsTheConnection", "integrationtests.TestResponseDoesNotWaitForAnUnreadBody", "TestFormOnAConnection", "TestFormBehindWhichTooMuchComes"}},
	{3, "chunk extensions have a grammar and a limit", []string{"integrationtests.TestServerReadsChunks", "internal/http1.TestChunkExtensions", "internal/http1.TestExtensionsAreLimited"}},
	{4, "fields, trailer fields and parts are limited in number", []string{"integrationtests.TestServerReadsHeads", "integrationtests.TestServerReadsChunks", "internal/http1.TestHeadLimits", "internal/http1.TestTrailerSections", "TestMultipartPartsAreLimited"}},
	{5, "Connection is a list of tokens", []string{"integrationtests.TestServerFramesBodies", "TestHeaderConnectionIsWhatAllLinesSay", "internal/http1.TestConnectionIsAListOfTokensOverAllItsLines"}},
	{6, "unknown expectations are refused", []string{"integrationtests.TestServerReadsHeads", "internal/http1.TestExpectations"}},
	{7, "versions other than 1.x are refused", []string{"integrationtests.TestServerReadsHeads", "internal/http1.TestRequestHeads"}},
	{8, "Host is checked", []string{"integrationtests.TestServerReadsHeads", "integrationtests.TestServerChecksHost", "internal/http1.TestHostsThatAreRefused"}},
	{9, "transfer codings other than a final chunked are refused", []string{"integrationtests.TestServerFramesBodies", "integrationtests.TestServerIsNotSmuggled", "internal/http1.TestTransferCodingsAreAList"}},
	{10, "a length beside chunks closes the connection", []string{"integrationtests.TestServerFramesBodies", "integrationtests.TestServerIsNotSmuggled", "internal/http1.TestFramingFollowsTheRFC"}},
	{11, "Content-Length is a number", []string{"integrationtests.TestServerFramesBodies", "internal/http1.TestRequestHeads", "internal/ascii.TestParseUintTakesDigitsOnly"}},
	{12, "a bare LF or CR is refused at once", []string{"integrationtests.TestServerReadsHeads", "internal/http1.TestRequestHeads", "internal/http1.TestAPeerThatNeverEndsALineIsRefused"}},
	{13, "folded lines are refused in requests", []string{"integrationtests.TestServerReadsHeads", "internal/http1.TestRequestHeads", "TestResponseHeaderUnfoldsLines"}},
	{14, "chunk sizes are numbers", []string{"integrationtests.TestServerReadsChunks", "TestRequestReadBrokenChunks", "internal/http1.TestChunkedMessages"}},
	{15, "request targets have a grammar", []string{"integrationtests.TestServerReadsHeads", "integrationtests.TestServerAnswersConnectWithoutAnyFraming", "TestBadEscapesInPaths", "integrationtests.TestPercentSignsInTargets", "internal/http1.TestRequestHeads"}},
	{16, "control bytes in fields are refused", []string{"integrationtests.TestServerReadsHeads", "TestRequestHeaderReadRefuses", "internal/http1.TestRequestHeads"}},
	{17, "no byte makes a parser panic", []string{"integrationtests.TestServerReadsHeads", "integrationtests.FuzzServerConn", "FuzzRequestRead", "internal/http1.FuzzParseRequest", "internal/http1.FuzzChunked"}},
	{18, "two empty lines before a request are skipped", []string{"integrationtests.TestServerReadsHeads", "TestRequestHeaderReadSkipsTwoEmptyLinesAtMost", "internal/http1.TestEmptyLinesBeforeARequest"}},
	// lifecycle of a server
	{19, "a panic ends one exchange", []string{"TestHandlerThatPanics", "TestHandlerThatPanicsInTheMiddleOfABody", "integrationtests.TestHooksThatPanicEndOneConnection", "integrationtests.TestErrorHandlerThatPanicsEndsItsConnection", "integrationtests.TestStreamsThatFailCutTheConnection", "TestProducerThatPanics", "TestBoundedStreamReaderAsABody", "TestTimeoutHandlerPassesPanicsOn", "TestTimeoutHandlerLogsLatePanics", "TestNextProtoThatFails"}},
	{20, "a length that is announced takes no memory", []string{"TestServerDoesNotAllocateDeclaredLengths", "TestRequestReadHoldsNoMoreThanArrives"}},
	{21, "every wait has its deadline", []string{"TestReadTimeoutCoversTheWaitForTheFirstByte", "TestReadTimeoutIsForTheWholeRequest", "TestIdleTimeout", "TestIdleTimeoutAloneCoversTheWaitForTheFirstByte", "TestSilentConnectionsEndOnEveryEngine", "integrationtests.TestWriteTimeoutIsForTheWholeResponse"}},
	{22, "the limit of heads is not the size of the buffer", []string{"integrationtests.TestServerReadsHeads", "TestHeaderReadLimits"}},
	{23, "a shutdown is orderly", []string{"TestShutdownClosesIdleConnectionsAtOnce", "TestShutdownLetsBusyConnectionsFinish", "TestShutdownMayBeCalledMoreThanOnce", "TestShutdownMeetsNewConnections", "TestShutdownWithContextGivesUp"}},
	{24, "connections are counted once", []string{"TestServeConnCountsOnce", "TestPerIPCountsAreForgotten", "TestServerRefusesMoreThanConcurrency", "TestServerLimitsConnectionsPerIPOfSockets", "TestRefusalsAreBounded", "TestNextProtoCountsForConcurrency"}},
	{25, "an upload that is aborted holds no memory", []string{"TestAbortedUploadsHoldNoMemory"}},
	{26, "no file comes with an error, and no file is left behind", []string{"TestFormFile", "TestUploadedFilesAreRemovedWithTheRequest", "TestLargeFilesOfAFormAreSpooled", "TestFilesOfAForgottenFormAreRemoved"}},
	{27, "what is kept beyond the handler is seen in the debug mode", []string{"TestSlicesOfAHandlerArePoisonedBehindIt", "TestReleasedValuesArePoisoned", "internal/bufpool.TestReleasedBuffersArePoisoned"}},
	{28, "streams are not read beyond their end, and close once", []string{"integrationtests.TestRequestStreamDoesNotReadTheNextRequest", "integrationtests.TestRequestStreamAfterTheHandler", "TestConnThatIsKeptIsNoOtherConnection", "TestContextThatTimedOutIsAskedForItsEnd", "TestStreamReaderGivesWhatIsProduced", "TestCloseEndsTheProducer", "TestBoundedStreamReaderAsABody", "integrationtests.TestStreamsAreClosed"}},
	// clients
	{29, "a request that meets a closed connection is sent on another one", []string{"TestClientPostsAfterIdleCloseSucceed", "TestClientLooksAtEveryConnection", "TestClientPostsOnClosedPipeSucceed", "TestClientTLSIdleConnections", "TestClientDoesNotRepeatPostThatWasTaken", "TestPipelineRepeatsWhatIsSafe"}},
	{30, "what is cut off is an error, and not asked for again", []string{"TestClientTruncatedResponseIsUnexpectedEOF", "TestPipelineReportsTruncatedResponses"}},
	{31, "calls wait for a connection", []string{"TestClientCallsQueueForConnections", "TestClientWaitTimeout"}},
	{32, "no place for a connection gets lost", []string{"TestClientUnderStressLosesNoPlace", "TestClientUnderLoad", "TestClientSetMaxConnsWakesWaiters", "internal/connpool.TestNoPlaceGetsLost"}},
	{33, "messages belong to their caller when the call is over", []string{"integrationtests.TestClientLeavesMessagesAloneAfterTimeout", "TestPipelineTimeoutsLeaveNothingBehind"}},
	{34, "a deadline covers every stage of a call", []string{"integrationtests.TestClientDeadlineCoversEveryStage"}},
	{35, "heads have a limit of their own, and errors hold nothing of them", []string{"integrationtests.TestClientHeadLimit", "integrationtests.TestClientRefusesMalformedResponses", "TestHeaderReadErrorsHoldNothingOfTheMessage"}},
	{36, "no body is read if the message has none", []string{"integrationtests.TestClientResponses", "TestPipelinedResponsesStayWithTheirRequests"}},
	{37, "redirects take no credentials along, and follow the rules for methods", []string{"integrationtests.TestRedirectMethodAndBody", "integrationtests.TestRedirectLeavesCredentialsBehind", "integrationtests.TestRedirectLocation"}},
	{38, "TLS is always verified", []string{"integrationtests.TestClientTLSIsVerified", "TestCertificatesAreVerifiedForEveryAddress"}},
	{39, "informational responses are no responses", []string{"integrationtests.TestClientResponses", "TestPipelinedResponsesStayWithTheirRequests"}},
	{40, "a load balancer without clients says so", []string{"TestLBClientWithoutClients"}},
	{41, "decompression has a limit", []string{"TestClientsLimitWhatBodiesDecodeTo", "TestBodiesDecodeToNoMoreThanTheyMayHave", "TestDecompressionBombsAreRefused"}},
	{42, "a proxy does not make a body whole that was cut off", []string{"integrationtests.TestClientStreamCutOff", "integrationtests.TestProxyPassesTruncatedBodyOn"}},
	// values, fields, codings and the bridge to net/http
	{51, "hosts and ports of URIs are checked", []string{"TestURIHosts", "TestURIErrors", "internal/http1.TestHostsThatAreRefused"}},
	{52, "codings are negotiated, and Vary is always there", []string{"internal/coding.TestCodingIsNegotiated", "TestCompressHandlersNegotiate", "TestVaryAndTagsSayThatContentIsEncoded", "TestFilesAreCompressedAsTheClientLikes"}},
	{53, "setters cannot inject lines", []string{"TestRequestHeaderSettersInjectNothing", "TestResponseHeaderSettersInjectNothing", "TestHeaderSetOfEveryKnownNameInjectsNothing", "TestRequestURISettersInjectNothing", "TestTrailerSectionInjectsNothing", "TestResponseCookiesInjectNothing", "internal/http1.TestTextLosesLineBreaksAndNothingElse"}},
	{54, "cookies cannot inject attributes", []string{"TestRequestHeaderCookieTextCannotEndACookie", "TestCookieSettersNeutralizeControls", "TestCookieKeepsPartitionedSecure"}},
	{56, "encoders of streams are released on every path", []string{"internal/bodyio.TestEncodersOfStreamsAreReleased"}},
	{60, "shared connections that ended while idle take no call", []string{"TestClientPostsAfterIdleCloseOfHTTP2Succeed", "integrationtests.TestHTTP2ClientPostsWhileIdleConnectionsEnd"}},
	{62, "addresses that refuse are looked up again", []string{"TestADialAsksAgainWhenRememberedAddressesRefuse", "internal/dial.TestDoubtedNamesAreLookedUpOncePerSecond"}},
}

// TestKnownFailuresAreHeld checks that all numbers are listed, and that the tests
// exist.
func TestKnownFailuresAreHeld(t *testing.T) {
	listed := map[int]bool{}
	for _, f := range knownFailures {
		if listed[f.number] {
			t.Errorf("%d is listed twice", f.number)
		}
		listed[f.number] = true
		if len(f.tests) == 0 {
			t.Errorf("%d (%s) has no test", f.number, f.what)
		}
	}
	for _, span := range [][2]int{{1, 42}, {51, 54}, {56, 56}} {
		for number := span[0]; number <= span[1]; number++ {
			if !listed[number] {
				t.Errorf("%d is not in the table", number)
			}
		}
	}
	tests := map[string]map[string]bool{}
	for _, f := range knownFailures {
		for _, name := range f.tests {
			dir := "."
			if path.Ext(name) != "" {
				dir, name = strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)[1:]
			}
			if tests[dir] == nil {
				tests[dir] = testsIn(t, dir)
			}
			if !tests[dir][name] {
				t.Errorf("%d (%s): there is no test %s in %s", f.number, f.what, name, dir)
			}
		}
	}
}

// testsIn returns the names of the tests in a folder, for all systems and build
// tags.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

// TestAbortedUploadsHoldNoMemory checks known failure 25: when a client leaves, the
// server releases the received part of its body.
func TestAbortedUploadsHoldNoMemory(t *testing.T) {
	const uploads, size = 8, 3 << 20
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			if !ctx.IsGet() {
				t.Error("the handler was called for an upload that was aborted")
			}
		}})
		inUse := func() int64 {
			// a sync.Pool drops its content in the second collection
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		part := strings.Repeat("x", size)
		before := inUse()
		var clients []*servertest.Conn
		for range uploads {
			c := ts.Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", fmt.Sprint("Content-Length: ", size+1)) + part)
			clients = append(clients, c)
		}
		servertest.Eventually(t, "the bodies in memory", func() bool { return inUse()-before > uploads*size/2 })
		for _, c := range clients {
			_ = c.Close()
		}
		servertest.Eventually(t, "their memory to be free", func() bool { return inUse()-before < size })
		// the server still serves
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, "")
	})
}
