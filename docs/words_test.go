package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// phrase is a turn of phrase for which the standard library and the RFCs have a plainer
// one.
type phrase struct {
	bad *regexp.Regexp
	// has are texts of which each match of bad has one: most passages have none, and need no
	// match, which takes much longer
	has    []string
	better string
	// fine matches plain sentences: a match of bad that overlaps with one of fine is not
	// counted; it may be nil
	fine *regexp.Regexp
	// like has sentences with the phrase, and unlike sentences with what is fine
	like, unlike []string
}

var phrases = []phrase{
	{
		has:    []string{"stand", "stood"},
		bad:    regexp.MustCompile(`\b(?:stands?|stood|standing) for\b`),
		better: "is, means, matches",
		like:   []string{"A star stands for any text.", "Names that stand for files are there."},
	},
	{
		has:    []string{"stand", "stood"},
		bad:    regexp.MustCompile(`\b(?:stands?|stood)\b`),
		better: "is, appears",
		fine:   regexp.MustCompile(`\b(?:stands?|stood) (?:still|for|alone)\b`),
		like:   []string{"The name stands in the first line.", "The text stood before it."},
		unlike: []string{"The clock stands still."},
	},
	{
		has:    []string{"told"},
		bad:    regexp.MustCompile(`\b(?:is|are|be) told\b|\btold (?:of|about|by|that|which|what|if)\b`),
		better: "is called after, is passed, learns",
		fine:   regexp.MustCompile(`\btold to\b`),
		like:   []string{"The hook is told of each response.", "The engine was told that there is output.", "All reasons are told."},
		unlike: []string{"The peer was told to continue."},
	},
	{
		has:    []string{"in order"},
		bad:    regexp.MustCompile(`\b(?:end|ends|ended|ending|close|closes|closed|closing|shut|shuts|shutting|stop|stops|stopped|leave|leaves|finish|finishes|finished)(?: \S+){0,4} in order\b`),
		better: "gracefully",
		fine:   regexp.MustCompile(`\bin order (?:to|that|of)\b`),
		like:   []string{"The connection ends in order.", "Shutdown shuts the server down in order."},
		unlike: []string{"It is closed in order to wake the reader.", "The frames arrive in order."},
	},
	{
		has:    []string{"ehind"},
		bad:    regexp.MustCompile(`\b[Bb]ehind\b`),
		better: "after",
		fine: regexp.MustCompile(`\b[Bb]ehind (?:(?:a|an|the|another|its|both|such|trusted) )?(?:\S+ )?(?:prox(?:y|ies)|front ends?|load balancers?|adaptors?|haproxy|nginx|gunicorn|net/http)\b` +
			`|\b[Ll](?:eaves?|eft|ags?|eaving) (?:\S+ )?behind\b`),
		like:   []string{"Behind a 100 there is a final status.", "The bytes behind the head are the body.", "set them behind it"},
		unlike: []string{"A server behind a load balancer needs it.", "Behind proxies the address differs.", "It leaves nothing behind.", "The clock lags behind."},
	},
	{
		has:    []string{"go on", "goes on", "went on", "gone on"},
		bad:    regexp.MustCompile(`\b(?:go|goes|went|gone) on\b`),
		better: "continues, outlives",
		like:   []string{"A goroutine that goes on needs copies.", "The others go on."},
		unlike: []string{"Nothing is going on."},
	},
	{
		has:    []string{"says"},
		bad:    regexp.MustCompile(`\bsays (?:that|what|which|why|how|whether|if|when|where|to which|in which)\b|^[\w.]+ says\b|\. [a-z]\w* says\b`),
		better: "is, reports whether, records, describes",
		fine:   regexp.MustCompile(`\b(?:RFC [\d. ]*\d|[Ss]ections? [\d.]*\d|documentation|specification) says\b`),
		like:   []string{"end says that the peer is gone.", "The table says why.", "limit says so.", "It is one. limit says so."},
		unlike: []string{"RFC 9218 7.1 says that this is possible.", "It closes the connection if the header says so."},
	},
	{
		has:    []string{"come", "came", "coming"},
		bad:    regexp.MustCompile(`\b(?:come|comes|came|coming) (?:back|in|to nothing)\b`),
		better: "returns, arrives, fails, is aborted",
		fine:   regexp.MustCompile(`\b(?:come|comes|came) in (?:pairs|one|two|three|several|many)\b`),
		like:   []string{"Streams that come to nothing count.", "The connection came back.", "A request comes in."},
		unlike: []string{"The arguments come in pairs."},
	},
	{
		has:    []string{"come"},
		bad:    regexp.MustCompile(`\b(?:has|have|had) (?:(?:just|last|already|not|all) )?come\b|\bto come\b`),
		better: "has arrived, is not there yet",
		like:   []string{"The bytes that have come count.", "The request has not come.", "More of it is still to come."},
		unlike: []string{"Values come from a pool."},
	},
	{
		has:    []string{"obody", "omebody", "nybody", "verybody", "hoever", "tranger"},
		bad:    regexp.MustCompile(`\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody|[Ww]hoever|[Ss]trangers?)\b`),
		better: "the actor: no caller, another goroutine, the peer, clients",
		like:   []string{"Nobody waits for it.", "Whoever has it closes it.", "What strangers send is limited.", "The list of those that nobody uses."},
		unlike: []string{"The content is http.NoBody."},
	},
	{
		has:    []string{"ho"},
		bad:    regexp.MustCompile(`\b[Ww]ho\b`),
		better: "the actor: the caller, the goroutine that, the peer that",
		fine:   regexp.MustCompile(`\b(?:[Aa]ttackers?|[Dd]evelopers?|[Pp]eople|[Uu]sers?) who\b`),
		like:   []string{"It wakes those who wait.", "A caller who holds mu calls it."},
		unlike: []string{"A user who can add files can change the response."},
	},
	{
		has:    []string{"at a time"},
		bad:    regexp.MustCompile(`\bat a time\b`),
		better: "at once, concurrently, at the same time",
		fine: regexp.MustCompile(`\b(?:[Oo]ne|single)\b[^.;:]{0,80}? at a time\b` +
			`|\b(?:[Aa]n?|[Tt]wo|\d+(?: \w+)?|n|N) (?:\S+ )?at a time\b`),
		like:   []string{"It reads and writes at a time.", "Several calls use it at a time."},
		unlike: []string{"One goroutine at a time may use it.", "Only one goroutine may call Read at a time.", "It reads a byte at a time.", "It takes 56 KiB at a time."},
	},
	{
		has:    []string{"hat of", "hose of"},
		bad:    regexp.MustCompile(`\b(?:[Tt]hat|[Tt]hose) of (?:it|that|them|those|what|which)\b`),
		better: "repeat the noun",
		like:   []string{"The limit is that of those.", "They are those of what a server reads."},
		unlike: []string{"The time is that of the request."},
	},
	{
		has:    []string{"of which no two"},
		bad:    regexp.MustCompile(`\bof which no two\b`),
		better: "varying",
		like:   []string{"requests of which no two in a row are alike"},
		unlike: []string{"connections, of which only a few are busy", "requests of which nothing was written"},
	},
	{
		has:    []string{"away"},
		bad:    regexp.MustCompile(`\bread(?:s|ing)? away\b`),
		better: "drained, discarded",
		like:   []string{"The rest of the body is read away.", "It reads away the rest."},
	},
	{
		has:    []string{"for ever"},
		bad:    regexp.MustCompile(`\bfor ever\b`),
		better: "forever",
		like:   []string{"It would wait for ever."},
	},
	{
		has:    []string{"used again"},
		bad:    regexp.MustCompile(`\b(?:is|are|be|was|were) (?:(?:not|never|only|then|soon) )?used again\b`),
		better: "is reused",
		like:   []string{"The connection is not used again.", "It can be used again."},
	},
	{
		has:    []string{"in hand", "a hand in", " go"},
		bad:    regexp.MustCompile(`\bin hand\b|\ba hand in\b|\b(?:let|lets|letting) go\b`),
		better: "holds, affects, releases",
		like:   []string{"It waits with a buffer in hand.", "The handler has a hand in it.", "The engine lets go of the connection."},
		unlike: []string{"The tables are edited by hand."},
	},
	{
		has:    []string{"in the place of"},
		bad:    regexp.MustCompile(`\bin the place of\b`),
		better: "instead of",
		like:   []string{"It is sent in the place of the response."},
		unlike: []string{"It takes the place of the response."},
	},
	{
		has:    []string{"other"},
		bad:    regexp.MustCompile(`\bas (?:any|all) others?\b`),
		better: "like any other, as usual",
		like:   []string{"They are garbage as any other.", "It has content, as all others."},
	},
}

// fault is a phrase in a passage.
type fault struct {
	file   string
	line   int
	text   string
	better string
}

func (f fault) String() string {
	return fmt.Sprintf("%s:%d: %s → %s", f.file, f.line, f.text, f.better)
}

// faults returns the phrases that a passage has and should not have.
func faults(p passage) (found []fault) {
	text := p.oneLine()
	for _, phrase := range phrases {
		if !slices.ContainsFunc(phrase.has, func(has string) bool { return strings.Contains(text, has) }) {
			continue
		}
		for _, at := range phrase.bad.FindAllStringIndex(text, -1) {
			if !phrase.isFine(text, at) {
				found = append(found, fault{p.file, p.lineAt(at[0]), around(text, at), phrase.better})
			}
		}
	}
	return found
}

// isFine reports whether a match of fine overlaps with the place.
func (f phrase) isFine(text string, at []int) bool {
	return f.fine != nil && slices.ContainsFunc(f.fine.FindAllStringIndex(text, -1), func(fine []int) bool {
		return fine[0] < at[1] && at[0] < fine[1]
	})
}

// around returns the words at the place, and a few before and after it.
func around(text string, at []int) string {
	const width = 30
	from, to := max(0, at[0]-width), min(len(text), at[1]+width)
	if from > 0 {
		from += max(0, strings.IndexByte(text[from:at[0]], ' ')+1)
	}
	if to < len(text) {
		if space := strings.LastIndexByte(text[at[1]:to], ' '); space >= 0 {
			to = at[1] + space
		}
	}
	return text[from:to]
}

// exceptions are the files that may have phrases, each with the reason.
var exceptions = map[string]string{}

// TestPlainPhrases checks the comments of all Go files and all documents.
func TestPlainPhrases(t *testing.T) {
	all := append(comments(t), paragraphs(t)...)
	if len(all) < 10000 {
		t.Errorf("only %d passages were found", len(all))
	}
	used := map[string]bool{}
	for _, p := range all {
		for _, f := range faults(p) {
			used[f.file] = true
			if exceptions[f.file] == "" {
				t.Error(f)
			}
		}
	}
	for file := range exceptions {
		if !used[file] {
			t.Errorf("%s is an exception without a phrase", file)
		}
	}
}

// TestPhrasesAreFound checks that each phrase fails in a comment and in a document, also
// if it is on two lines, and that plain sentences, code and strings do not.
func TestPhrasesAreFound(t *testing.T) {
	for _, phrase := range phrases {
		if len(phrase.like) == 0 {
			t.Errorf("%s has no sentence that fails", phrase.bad)
		}
		for _, sentence := range phrase.like {
			// the line breaks are where the sentence has spaces
			for _, text := range []string{sentence, strings.ReplaceAll(sentence, " ", "\n")} {
				code := "package a\n\n// " + strings.ReplaceAll(text, "\n", "\n// ") + "\nvar a int\n"
				checkFault(t, phrase, text, 3, commentsIn(t, "a.go", []byte(code)))
				checkFault(t, phrase, text, 3, paragraphsIn("a.md", "# A\n\n"+text+"\n\nB\n"))
			}
			hidden := fmt.Sprintf("package a\n\nvar a = %q\n", sentence)
			checkNoFault(t, sentence, commentsIn(t, "a.go", []byte(hidden)))
			checkNoFault(t, sentence, paragraphsIn("a.md", "A\n```\n"+sentence+"\n```\n`"+sentence+"`\n"))
		}
		for _, sentence := range phrase.unlike {
			checkNoFault(t, sentence, paragraphsIn("a.md", sentence))
		}
	}
}

// checkFault checks that passages have the fault, with the line on which it begins. line is
// where the text begins.
func checkFault(t *testing.T, want phrase, text string, line int, passages []passage) {
	t.Helper()
	line += strings.Count(text[:want.bad.FindStringIndex(strings.ReplaceAll(text, "\n", " "))[0]], "\n")
	for _, p := range passages {
		for _, f := range faults(p) {
			if f.better == want.better && f.line == line && strings.HasPrefix(f.String(), fmt.Sprintf("%s:%d: ", p.file, line)) {
				return
			}
		}
	}
	t.Errorf("%q: no fault on line %d of %+v", text, line, passages)
}

func checkNoFault(t *testing.T, sentence string, passages []passage) {
	t.Helper()
	for _, p := range passages {
		for _, f := range faults(p) {
			t.Errorf("%q: %s", sentence, f)
		}
	}
}
