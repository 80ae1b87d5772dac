package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// What the index says about a range: four bytes, then the message RangeDescriptor of
// lib/proto/range.proto. Written here a second time, by hand, so that the library's own reading of it
// has somebody to disagree with.

const descriptorMark = "KRD\x01"

type replica struct {
	nodeID uint64
	host   string
	port   uint64
}

type descriptor struct {
	id, generation uint64
	start, end     string
	replicas       []replica
}

func (d *descriptor) table() string {
	return fmt.Sprintf("r%d", d.id)
}

// The leaseholder's address.
func (d *descriptor) address() string {
	return net.JoinHostPort(d.replicas[0].host, strconv.FormatUint(d.replicas[0].port, 10))
}

func (d *descriptor) covers(row string) bool {
	return row >= d.start && (d.end == "" || row < d.end)
}

func appendNumber(out []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.VarintType), value)
}

func appendText(out []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(out, field, protowire.BytesType), value)
}

func (d *descriptor) encode() []byte {
	out := appendNumber([]byte(descriptorMark), 1, d.id)
	out = appendNumber(out, 2, d.generation)
	out = appendText(out, 3, d.start)
	out = appendText(out, 4, d.end)
	for _, r := range d.replicas {
		one := appendNumber(nil, 1, r.nodeID)
		one = appendText(one, 2, r.host)
		one = appendNumber(one, 3, r.port)
		out = appendText(out, 5, string(one))
	}
	return out
}

// Calls take with each field of a message; a number's text is empty, a text's number 0.
func eachField(in []byte, take func(field protowire.Number, number uint64, text string) error) error {
	for len(in) > 0 {
		field, kind, used := protowire.ConsumeTag(in)
		if used < 0 {
			return protowire.ParseError(used)
		}
		in = in[used:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, used = protowire.ConsumeVarint(in)
		case protowire.BytesType:
			text, used = protowire.ConsumeBytes(in)
		default:
			used = protowire.ConsumeFieldValue(field, kind, in)
		}
		if used < 0 {
			return protowire.ParseError(used)
		}
		in = in[used:]
		if err := take(field, number, string(text)); err != nil {
			return err
		}
	}
	return nil
}

func decodeReplica(in string) (replica, error) {
	var r replica
	err := eachField([]byte(in), func(field protowire.Number, number uint64, text string) error {
		switch field {
		case 1:
			r.nodeID = number
		case 2:
			r.host = text
		case 3:
			r.port = number
		}
		return nil
	})
	return r, err
}

func decodeDescriptor(in []byte) (*descriptor, error) {
	if len(in) < len(descriptorMark) || string(in[:len(descriptorMark)]) != descriptorMark {
		return nil, errors.New("not a descriptor")
	}
	d := &descriptor{}
	err := eachField(in[len(descriptorMark):], d.take)
	if err == nil && len(d.replicas) == 0 {
		err = errors.New("a descriptor without replicas")
	}
	return d, err
}

func (d *descriptor) take(field protowire.Number, number uint64, text string) error {
	switch field {
	case 1:
		d.id = number
	case 2:
		d.generation = number
	case 3:
		d.start = text
	case 4:
		d.end = text
	case 5:
		r, err := decodeReplica(text)
		if err != nil {
			return err
		}
		d.replicas = append(d.replicas, r)
	}
	return nil
}
