package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Keys and values in commands and answers, with HBase's escapes: letters, digits and most signs are
// themselves, all else is \xHH. In a command the empty key is "", in an answer an empty field.

func parseKey(text string) (string, error) {
	if text == `""` {
		return "", nil
	}
	var key strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			key.WriteByte(text[i])
			continue
		}
		if i+4 > len(text) || text[i+1] != 'x' {
			return "", fmt.Errorf("not an escaped key: %s", text)
		}
		value, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
		if err != nil {
			return "", fmt.Errorf("not an escaped key: %s", text)
		}
		key.WriteByte(byte(value))
		i += 3
	}
	return key.String(), nil
}

func formatKey(key string) string {
	var text strings.Builder
	for i := 0; i < len(key); i++ {
		if c := key[i]; c > ' ' && c <= '~' && c != '\\' && c != '"' {
			text.WriteByte(c)
		} else {
			fmt.Fprintf(&text, `\x%02X`, c)
		}
	}
	return text.String()
}
