package hpack

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	xnet "golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/field"
)

// text returns a list as one string.
func text(l *field.List) string {
	var out strings.Builder
	for _, p := range pairs(l) {
		fmt.Fprintf(&out, "%s=%s;", p.name, p.value)
	}
	return out.String()
}

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The examples of RFC 7541 appendix C.2 to C.6. The examples with responses use a table of
// 256.
var examples = []struct {
	name     string
	maxTable uint32
	blocks   []example
}{
	{"C.2.1", 4096, []example{{"400a637573746f6d2d6b65790d637573746f6d2d686561646572", "custom-key=custom-header;", 55}}},
	{"C.2.2", 4096, []example{{"040c2f73616d706c652f70617468", ":path=/sample/path;", 0}}},
	{"C.2.3", 4096, []example{{"100870617373776f726406736563726574", "password=secret;", 0}}},
	{"C.2.4", 4096, []example{{"82", ":method=GET;", 0}}},
	{"C.3", 4096, []example{
		{"828684410f7777772e6578616d706c652e636f6d", ":method=GET;:scheme=http;:path=/;:authority=www.example.com;", 57},
		{"828684be58086e6f2d6361636865", ":method=GET;:scheme=http;:path=/;:authority=www.example.com;cache-control=no-cache;", 110},
		{"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565", ":method=GET;:scheme=https;:path=/index.html;:authority=www.example.com;custom-key=custom-value;", 164},
	}},
	{"C.4", 4096, []example{
		{"828684418cf1e3c2e5f23a6ba0ab90f4ff", ":method=GET;:scheme=http;:path=/;:authority=www.example.com;", 57},
		{"828684be5886a8eb10649cbf", ":method=GET;:scheme=http;:path=/;:authority=www.example.com;cache-control=no-cache;", 110},
		{"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", ":method=GET;:scheme=https;:path=/index.html;:authority=www.example.com;custom-key=custom-value;", 164},
	}},
	{"C.5", 256, []example{
		{"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d", ":status=302;cache-control=private;date=Mon, 21 Oct 2013 20:13:21 GMT;location=https://www.example.com;", 222},
		{"4803333037c1c0bf", ":status=307;cache-control=private;date=Mon, 21 Oct 2013 20:13:21 GMT;location=https://www.example.com;", 222},
		{"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31", ":status=200;cache-control=private;date=Mon, 21 Oct 2013 20:13:22 GMT;location=https://www.example.com;content-encoding=gzip;set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1;", 215},
	}},
	{"C.6", 256, []example{
		{"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3", ":status=302;cache-control=private;date=Mon, 21 Oct 2013 20:13:21 GMT;location=https://www.example.com;", 222},
		{"4883640effc1c0bf", ":status=307;cache-control=private;date=Mon, 21 Oct 2013 20:13:21 GMT;location=https://www.example.com;", 222},
		{"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007", ":status=200;cache-control=private;date=Mon, 21 Oct 2013 20:13:22 GMT;location=https://www.example.com;content-encoding=gzip;set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1;", 215},
	}},
}

type example struct {
	block, fields string
	tableSize     uint32
}

func TestDecodesTheExamplesOfTheStandard(t *testing.T) {
	for _, c := range examples {
		var d Decoder
		d.Init(c.maxTable)
		d.t.setMax(c.maxTable) // the examples omit the update
		for i, b := range c.blocks {
			var l field.List
			if err := d.Decode(&l, fromHex(t, b.block), noLimits); err != nil || text(&l) != b.fields || d.t.size != b.tableSize {
				t.Errorf("%s.%d: %v, %q, table of %d", c.name, i+1, err, text(&l), d.t.size)
			}
			checkTable(t, &d.t)
		}
	}
}

func TestStaticTableIsThatOfTheStandard(t *testing.T) {
	x := newXnetDecoder(4096)
	for index := 1; index < dynamicIndex; index++ {
		var d Decoder
		d.Init(4096)
		if !compare(t, &d, x, []byte{0x80 | byte(index)}, noLimits) {
			t.Errorf("index %d is refused", index)
		}
	}
}

func TestDecoderRefusesMalformedBlocks(t *testing.T) {
	for _, c := range []struct {
		name, block string
		want        error
	}{
		{"index 0", "80", ErrIndex},
		{"index behind the static table", "be", ErrIndex},
		{"index behind the dynamic table", "4001610162 bf", ErrIndex},
		{"largest index", "ffffffffff0e", ErrIndex},
		{"name behind the static table", "7e0162", ErrIndex},
		{"name behind the dynamic table", "4001610162 7f0001 62", ErrIndex},
		{"name of a field that is not stored", "0f2f0162", ErrIndex},
		{"integer of 33 bits", "ff8180808010", ErrInteger},
		{"integer that would wrap to 1", "ff8280ffff1f", ErrInteger},
		{"integer of six continuation bytes", "ff808080808000", ErrInteger},
		{"integer without end", "ff8080", ErrTruncated},
		{"integer without end, many", "ffffffffffffffffffff", ErrInteger},
		{"prefix alone", "ff", ErrTruncated},
		{"literal without name", "40", ErrTruncated},
		{"literal without value", "400161", ErrTruncated},
		{"name is cut", "400261", ErrTruncated},
		{"value is cut", "4001610262", ErrTruncated},
		{"length of a string of 4 GiB", "40 7f80ffffff0f 61", ErrTruncated},
		{"length of a string is too large", "40 7fffffffffff7f 61", ErrInteger},
		{"Huffman code with the end of the string", "4084fffffffc0162", ErrHuffman},
		{"Huffman code with 8 bits of padding", "40016182f8ff", ErrHuffman},
		{"Huffman code with padding of zeros", "4001618100", ErrHuffman},
		{"size update over the setting", "3fe21f", ErrSizeUpdate},
		{"size update behind a field", "8220", ErrSizeUpdate},
		{"size update behind a literal", "400161016220", ErrSizeUpdate},
		{"three size updates", "202020", ErrSizeUpdate},
		{"size update is cut", "3f", ErrTruncated},
		{"size update of 33 bits", "3fffffffff7f", ErrInteger},
	} {
		var d Decoder
		d.Init(4096)
		var l field.List
		if err := d.Decode(&l, fromHex(t, c.block), noLimits); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v; %q", c.name, err, c.want, text(&l))
		}
		d.Init(4096)
		compare(t, &d, newXnetDecoder(4096), fromHex(t, c.block), noLimits)
	}
}

func TestDecoderAcceptsWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ name, block, want string }{
		{"an empty block", "", ""},
		{"two size updates", "203fe11f82", ":method=GET;"},
		{"a size update alone", "20", ""},
		{"five continuation bytes", "0f9180808000 0162", "cookie=b;"},
		{"empty name and value", "400000 be", "=;=;"},
		{"empty Huffman strings", "408080 be", "=;=;"},
		{"a name's index with continuation", "4001610162 4001630164 7f0000", "a=b;c=d;a=;"},
	} {
		var d Decoder
		d.Init(4096)
		var l field.List
		if err := d.Decode(&l, fromHex(t, c.block), noLimits); err != nil || text(&l) != c.want {
			t.Errorf("%s: %v, %q", c.name, err, text(&l))
		}
		for i := range l.Len() {
			if l.Value(i) == nil {
				t.Errorf("%s: value %d is nil", c.name, i)
			}
		}
	}
}

// literal returns a literal field that the decoder must store.
func literal(name, value string) []byte {
	b := AppendInt([]byte{0x40}, 0, 7, uint64(len(name)))
	b = AppendInt(append(b, name...), 0, 7, uint64(len(value)))
	return append(b, value...)
}

func TestNameCanComeFromTheEntryThatItsFieldEvicts(t *testing.T) {
	var d Decoder
	d.Init(4096)
	var l field.List
	name := strings.Repeat("n", 60)
	block := append([]byte{0x3f, 0x61}, literal(name, "v")...) // a table of 128: one entry
	block = append(block, 0x7e, 1, 'w', 0x7e, 1, 'x')
	if err := d.Decode(&l, block, noLimits); err != nil || text(&l) != name+"=v;"+name+"=w;"+name+"=x;" || d.t.n != 1 {
		t.Errorf("%v, %q, %d entries", err, text(&l), d.t.n)
	}
	checkTable(t, &d.t)
}

func TestEntryLargerThanTheTableEmptiesIt(t *testing.T) {
	var d Decoder
	d.Init(4096)
	var l field.List
	block := append(literal("a", "b"), literal("large", strings.Repeat("x", 4096-32-4))...)
	if err := d.Decode(&l, block, noLimits); err != nil || l.Len() != 2 || d.t.n != 0 || d.t.size != 0 {
		t.Errorf("%v, %d fields, %d entries", err, l.Len(), d.t.n)
	}
	if err := d.Decode(&l, []byte{0xbe}, noLimits); err != ErrIndex {
		t.Error(err)
	}
	d.Init(4096)
	if err := d.Decode(&l, literal("large", strings.Repeat("x", 4096-32-5)), noLimits); err != nil || d.t.size != 4096 {
		t.Errorf("%v: an entry as large as the table is not stored", err)
	}
}

// Memory grows with the stored fields, up to the size of the table.
func TestTablesTakeNoMoreMemoryThanTheirSize(t *testing.T) {
	var d Decoder
	d.Init(4096)
	if cap(d.t.text)+cap(d.t.ring) != 0 {
		t.Error("an unused table has memory")
	}
	var l field.List
	if err := d.Decode(&l, literal("a", "b"), noLimits); err != nil || cap(d.t.text) > smallestText || cap(d.t.ring) > smallestRing {
		t.Errorf("%v: %d bytes and %d entries for one field", err, cap(d.t.text), cap(d.t.ring))
	}
	const size = 3000
	if err := d.Decode(&l, AppendInt(nil, 0x20, 5, uint64(size)), noLimits); err != nil {
		t.Fatal(err)
	}
	for n := range 4000 {
		l.Reset()
		if err := d.Decode(&l, literal("", strings.Repeat("v", n*7%900)), noLimits); err != nil {
			t.Fatal(err)
		}
		checkTable(t, &d.t)
	}
	for range 4000 {
		if err := d.Decode(&l, literal("", ""), noLimits); err != nil {
			t.Fatal(err)
		}
	}
	if cap(d.t.text) > size || cap(d.t.ring) > 128 || d.t.n != size/entryOverhead {
		t.Errorf("%d bytes of text, a ring of %d entries, %d used", cap(d.t.text), cap(d.t.ring), d.t.n)
	}
}

func TestDecoderFollowsTheSettingOnceItIsAcknowledged(t *testing.T) {
	var d Decoder
	d.Init(100)
	decode := func(block string) error {
		var l field.List
		return d.Decode(&l, fromHex(t, block), noLimits)
	}
	// the peer does not yet know
	if err := errors.Join(decode("4001610162"), decode("be")); err != nil {
		t.Error(err)
	}
	d.Acknowledged()
	if err := decode("3f4582"); err != nil {
		t.Error("an update to the setting is refused:", err)
	}
	if err := decode("be"); err != nil {
		t.Error(err)
	}
	d.Init(100)
	d.Acknowledged()
	if err := decode("82"); err != ErrSizeUpdate {
		t.Error("a missing update:", err)
	}
	d.Init(4096)
	d.Acknowledged()
	if err := decode("82"); err != nil {
		t.Error(err)
	}
}

func TestFieldsOverTheLimitKeepTheTableInStep(t *testing.T) {
	for _, c := range []struct {
		name string
		max  Limits
		want error
	}{
		{"all fit", Limits{Size: 4 * 34, Fields: 4}, nil},
		{"size", Limits{Size: 4*34 - 1, Fields: 4}, ErrTooLarge},
		{"number", Limits{Size: 4 * 34, Fields: 3}, ErrTooLarge},
		{"half the size", Limits{Size: 2 * 34, Fields: 4}, ErrTooLarge},
		{"under half the size", Limits{Size: 2*34 - 1, Fields: 4}, ErrExcessive},
		{"half the number", Limits{Size: 4 * 34, Fields: 2}, ErrTooLarge},
		{"under half the number", Limits{Size: 4 * 34, Fields: 1}, ErrExcessive},
		{"nothing", Limits{}, ErrExcessive},
	} {
		var d Decoder
		d.Init(4096)
		x := newXnetDecoder(4096)
		block := append(append(literal("a", "1"), 0xbe), literal("b", "2")...)
		block = append(block, literal("c", "3")...)
		var l field.List
		if err := d.Decode(&l, block, c.max); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		d.Init(4096)
		if compare(t, &d, x, block, c.max) {
			compare(t, &d, x, []byte{0xbe, 0xbf, 0xc0}, noLimits)
		}
	}
}

// Pseudo-fields are not counted, however they are encoded, but have a size.
func TestPseudoFieldsAreNotCounted(t *testing.T) {
	block := append([]byte("\x82\x86\xbe\x84"), literal(":other", "x")...)
	for _, c := range []struct {
		max  Limits
		want error
	}{
		{Limits{Size: 5*entryOverhead + 100, Fields: 1}, nil},
		{Limits{Size: 5*entryOverhead + 100}, ErrExcessive},
		{Limits{Size: 4 * entryOverhead, Fields: 1}, ErrTooLarge},
	} {
		var d Decoder
		d.Init(4096)
		var l field.List
		if err := d.Decode(&l, literal("a", "1"), usualLimits); err != nil {
			t.Fatal(err)
		}
		l.Reset()
		if err := d.Decode(&l, block, c.max); err != c.want {
			t.Errorf("%+v: %v, want %v", c.max, err, c.want)
		}
	}
}

// A few bytes that repeatedly refer to a large field must not cost as much as the field.
func TestReferencesToALargeFieldAreBounded(t *testing.T) {
	for _, repeated := range []string{"\xbe", "\x7e\x00", "\x0f\x2f\x00"} {
		var d Decoder
		d.Init(4096)
		max := Limits{Size: 64 << 10, Fields: 500}
		var l field.List
		block := append(literal(strings.Repeat("x", 4000), ""), strings.Repeat(repeated, 1<<20)...)
		if err := d.Decode(&l, block, max); err != ErrExcessive {
			t.Errorf("%q: %v", repeated, err)
		}
		if len(l.Block) > int(max.Size) || l.Len() != 16 {
			t.Errorf("%q: %d fields, %d bytes of text", repeated, l.Len(), len(l.Block))
		}
		checkTable(t, &d.t)
	}
}

func TestDecoderMarksWhatIsNotAllowedInHTTP2(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        field.Flag
	}{
		{"a", "b", 0},
		{"x-Long", "b", field.BadName},
		{"Content-Type", "b", field.BadName},
		{"", "b", field.BadName},
		{":path", "/", 0},
		{":", "/", field.BadName},
		{"::a", "/", field.BadName},
		{"a:", "/", field.BadName},
		{"a b", "/", field.BadName},
		{"a\x00", "\x00", field.BadName | field.BadValue},
		{"a\x80", "\x80", field.BadName},
		{"a", "b\tc d", 0},
		{"a", "", 0},
		{"a", " b", field.BadValue},
		{"a", "b\t", field.BadValue},
		{"a", " ", field.BadValue},
		{"a", "a long value\r\nx: y", field.BadValue},
		{"a", "a long value\twith tabs\x7f", field.BadValue},
		{"a", "a long value\twith tabs", 0},
	} {
		for _, normalize := range []bool{false, true} {
			max := noLimits
			max.Normalize = normalize
			var d Decoder
			d.Init(4096)
			var l field.List
			block := append(literal(c.name, c.value), 0xbe, 0x7e, 1, 'v') // as it is, indexed, with another value
			if err := d.Decode(&l, block, max); err != nil || l.Len() != 3 {
				t.Fatal(err)
			}
			if l.Entries[0].Flags != c.want || l.Entries[1].Flags != c.want || l.Entries[2].Flags != c.want&field.BadName {
				t.Errorf("%q: %q: %+v", c.name, c.value, l.Entries)
			}
		}
	}
}

func TestDecoderNormalizesNames(t *testing.T) {
	var d Decoder
	d.Init(4096)
	block := append([]byte{0x82, 0x5f, 1, 't'}, literal("x-my-name", "1")...)
	block = append(append(block, literal("x-request-id", "2")...), literal("SeRver", "3")...)
	again := []byte{0x82, 0xbe, 0xbf, 0xc0, 0xc1, 0x0f, 0x2f, 1, 'n', 0x90}
	for _, c := range []struct {
		block     []byte
		normalize bool
		want      string
	}{
		{block, true, ":method=GET;Content-Type=t;X-My-Name=1;X-Request-Id=2;Server=3;"},
		{again, true, ":method=GET;Server=3;X-Request-Id=2;X-My-Name=1;Content-Type=t;Server=n;Accept-Encoding=gzip, deflate;"},
		{again, false, ":method=GET;server=3;x-request-id=2;x-my-name=1;content-type=t;server=n;accept-encoding=gzip, deflate;"},
		{again, true, ":method=GET;Server=3;X-Request-Id=2;X-My-Name=1;Content-Type=t;Server=n;Accept-Encoding=gzip, deflate;"},
		{block, false, ":method=GET;content-type=t;x-my-name=1;x-request-id=2;SeRver=3;"},
	} {
		max := noLimits
		max.Normalize = c.normalize
		var l field.List
		if err := d.Decode(&l, c.block, max); err != nil || text(&l) != c.want {
			t.Errorf("%v, %q, want %q", err, text(&l), c.want)
		}
		for i, e := range l.Entries {
			if e.ID != lookup(l.Name(i)) {
				t.Errorf("%q has the id %v", l.Name(i), e.ID)
			}
		}
	}
}

// browser is a request as browsers send it; %d differs each time.
var browser = []pair{
	{":method", "GET"}, {":authority", "www.example.com"}, {":scheme", "https"}, {":path", "/api/v1/items?page=%d&sort=asc"},
	{"sec-ch-ua", `"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"`},
	{"sec-ch-ua-mobile", "?0"},
	{"user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"},
	{"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
	{"sec-fetch-site", "same-origin"}, {"sec-fetch-mode", "cors"},
	{"accept-encoding", "gzip, deflate, br, zstd"}, {"accept-language", "en-US,en;q=0.9"},
	{"cookie", "sid=8d7f0c1e5a6b4c3d9e2f1a0b; theme=dark"},
}

// browserBlocks returns the blocks of n requests. The path is not indexed.
func browserBlocks(n int) (blocks [][]byte) {
	var buf strings.Builder
	enc := xnet.NewEncoder(&buf)
	for i := range n {
		buf.Reset()
		for _, f := range browser {
			if f.name == ":path" {
				path := xnet.AppendHuffmanString(nil, fmt.Sprintf(f.value, i))
				buf.WriteString("\x04")
				buf.WriteByte(0x80 | byte(len(path)))
				buf.Write(path)
				continue
			}
			enc.WriteField(xnet.HeaderField{Name: f.name, Value: f.value})
		}
		blocks = append(blocks, []byte(buf.String()))
	}
	return blocks
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	var d Decoder
	d.Init(4096)
	var l field.List
	blocks, i := browserBlocks(64), 0
	decode := func() {
		l.Reset()
		if err := d.Decode(&l, blocks[i%len(blocks)], Limits{Size: 64 << 10, Fields: 500, Normalize: true}); err != nil || l.Len() != len(browser) {
			t.Fatal(err, l.Len())
		}
		i++
	}
	decode()
	if n := testing.AllocsPerRun(100, decode); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
	// values that differ fill the table again and again
	varied := literal("x-varied", strings.Repeat("v", 50))
	churn := func() {
		l.Reset()
		for range 40 {
			i++
			varied[len(varied)-1], varied[len(varied)-2] = 'a'+byte(i%26), 'a'+byte(i/26%26)
			if err := d.Decode(&l, varied, noLimits); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 20 {
		churn()
	}
	if n := testing.AllocsPerRun(100, churn); n != 0 {
		t.Errorf("%v allocations while the table changes", n)
	}
}

func TestPseudoFieldsAreExaminedOnce(t *testing.T) {
	var d Decoder
	d.Init(4096)
	var asked []string
	max := noLimits
	max.Valid = func(id field.ID, value []byte) bool {
		asked = append(asked, string(value))
		return id == Path && value[0] == '/'
	}
	block := literal(":authority", "a")
	block = append(block, literal(":path", "/b")...)
	block = append(block, literal(":path", "c")...)
	block = append(block, literal(":Path", "/d")...)
	block = append(block, literal("path", "e")...)
	var l field.List
	if err := d.Decode(&l, block, max); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(&l, []byte{0x82, 0xc2, 0xc1, 0xc0, 0xbf, 0xbe}, max); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		id    field.ID
		flags field.Flag
	}{
		{Authority, field.BadValue}, {Path, 0}, {Path, field.BadValue}, {OtherPseudo, field.BadName | field.BadValue}, {field.Unknown, 0},
		{Method, 0},
	}
	want = append(want, want[:5]...)
	for i, w := range want {
		if e := &l.Entries[i]; e.ID != w.id || e.Flags != w.flags {
			t.Errorf("%s: id %d and flags %b, want %d and %b", l.Name(i), e.ID, e.Flags, w.id, w.flags)
		}
	}
	if got := strings.Join(asked, " "); got != "a /b c /d" {
		t.Errorf("asked about %q", got)
	}
}
