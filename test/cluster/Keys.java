package keyroute.cluster;

import java.util.HexFormat;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The text form of keys in commands and answers: HBase's own escapes (Bytes.toStringBinary), where
 * a space is written \x20 and a quote \x22 as well, so that a key never holds white space and is
 * never taken for the empty one.  That is "" in a command and an empty field in an answer.
 */
final class Keys {
  private static final String EMPTY = "\"\"";

  private Keys() {}

  static byte[] parse(String text) {
    return text.equals(EMPTY) ? new byte[0] : Bytes.toBytesBinary(text);
  }

  static String format(byte[] key) {
    return Bytes.toStringBinary(key).replace(" ", "\\x20").replace("\"", "\\x22");
  }

  static byte[] parseHex(String text) {
    return text.equals(EMPTY) ? new byte[0] : HexFormat.of().parseHex(text);
  }

  static String formatHex(byte[] value) {
    return HexFormat.of().formatHex(value);
  }
}
