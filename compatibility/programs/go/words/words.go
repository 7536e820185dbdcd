// Package words is what the programs in Go have in common: told what to do on stdin, they say on stdout what came of it.
// tests/clients/programs/program.py describes it.
package words

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// Message is one that is sent, or one that was received. Bytes are written as latin-1 text.
type Message struct {
	Topic       string       `json:"topic"`
	Partition   int32        `json:"partition"`
	Offset      int64        `json:"offset"`
	TimestampMs *int64       `json:"timestamp_ms"`
	Key         *string      `json:"key"`
	Value       *string      `json:"value"`
	Headers     [][2]*string `json:"headers"`
}

// Partition is a topic and an index.
type Partition struct {
	Topic string
	Index int32
}

// Order is what a word comes with; each word uses some of it.
type Order struct {
	Topic            string      `json:"topic"`
	Topics           []string    `json:"topics"`
	Messages         []Message   `json:"messages"`
	Values           []string    `json:"values"`
	Codec            string      `json:"codec"`
	Partitions       []Partition `json:"partitions"`
	Isolation        string      `json:"isolation"`
	Group            string      `json:"group"`
	Source           string      `json:"source"`
	Instance         string      `json:"instance"`
	Protocol         string      `json:"protocol"`
	SessionTimeoutMs int         `json:"session_timeout_ms"`
	TransactionalID  string      `json:"transactional_id"`
	Offsets          []Offset    `json:"offsets"`
	Commit           bool        `json:"commit"`
}

// Offset is how far a partition was read.
type Offset struct {
	Partition
	At int64
}

// Security is what the third argument says.
type Security struct {
	CA       string `json:"ca"`
	User     string `json:"user"`
	Password string `json:"password"`
}

// Words are what a client does; a library that can't do something lacks the word.
type Words map[string]func(Order) error

// HeartbeatInterval is short, so that members hear of a rebalance soon.
const HeartbeatInterval = 100 * time.Millisecond

// FetchWait is short, for other requests wait behind a fetch.
const FetchWait = 50 * time.Millisecond

// Patience is how long one call may take.
var Patience = patience()

var stdout sync.Mutex

// Arguments are the broker's address, the client's id, and security.
func Arguments() (bootstrap, clientID string, security Security) {
	if err := json.Unmarshal([]byte(os.Args[3]), &security); err != nil {
		panic(err)
	}
	return os.Args[1], os.Args[2], security
}

// Run does as told until stdin ends.
func Run(words Words) {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var told struct {
			Do   string `json:"do"`
			With Order  `json:"with"`
		}
		if err := json.Unmarshal(line, &told); err != nil {
			panic(err)
		}
		word, known := words[told.Do]
		if !known {
			panic("there is no word " + told.Do)
		}
		if err := word(told.With); err != nil {
			say("refused", refusal(err))
		} else {
			say("done", []int{})
		}
	}
}

// Assigned tells which partitions the consumer was given.
func Assigned(partitions []Partition) { say("assigned", pairs(partitions)) }

// Revoked tells which partitions were taken from the consumer.
func Revoked(partitions []Partition) { say("revoked", pairs(partitions)) }

// Lost tells which partitions somebody else may have by now.
func Lost(partitions []Partition) { say("lost", pairs(partitions)) }

// Received tells of messages.
func Received(messages ...Message) {
	if len(messages) > 0 {
		say("messages", messages)
	}
}

// Failed tells of an error that the consumer met.
func Failed(err error) { say("failed", refusal(err)) }

// Raw is the bytes that a text stands for.
func Raw(text *string) []byte {
	if text == nil {
		return nil
	}
	raw := make([]byte, 0, len(*text))
	for _, letter := range *text {
		raw = append(raw, byte(letter))
	}
	return raw
}

// Text is the text that stands for these bytes.
func Text(raw []byte) *string {
	if raw == nil {
		return nil
	}
	letters := make([]rune, len(raw))
	for at, each := range raw {
		letters[at] = rune(each)
	}
	text := string(letters)
	return &text
}

// UnmarshalJSON reads ["topic", 0].
func (partition *Partition) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&partition.Topic, &partition.Index})
}

// UnmarshalJSON reads ["topic", 0, 5].
func (offset *Offset) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&offset.Topic, &offset.Index, &offset.At})
}

func pairs(partitions []Partition) [][]any {
	listed := make([][]any, 0, len(partitions))
	for _, each := range partitions {
		listed = append(listed, []any{each.Topic, each.Index})
	}
	return listed
}

func refusal(err error) map[string]any {
	return map[string]any{"code": nil, "text": err.Error()}
}

func say(what string, told any) {
	line, err := json.Marshal(map[string]any{what: told})
	if err != nil {
		panic(err)
	}
	stdout.Lock()
	defer stdout.Unlock()
	fmt.Println(string(line))
}

func patience() time.Duration {
	seconds, err := strconv.ParseFloat(os.Getenv("OTTLA_PATIENCE_SECONDS"), 64)
	if err != nil {
		seconds = 30
	}
	return time.Duration(seconds * float64(time.Second))
}
