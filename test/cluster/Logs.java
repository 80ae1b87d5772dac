package keyroute.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes the log4j configuration that sends HBase's logging to a file, and nothing to stdout. */
final class Logs {
  static final String PROPERTY = "log4j.configuration";

  /** Set by Cluster's --log: then it is worth writing more. */
  static volatile boolean verbose;

  private Logs() {}

  /** Returns the address of the configuration, to be given to log4j in PROPERTY. */
  static String write(Path folder, Path logFile) throws IOException {
    Path file = folder.resolve("log4j-" + logFile.getFileName() + ".properties");
    Files.writeString(file, String.join("\n",
        "log4j.rootLogger=" + (verbose ? "INFO" : "WARN") + ", file",
        "log4j.appender.file=org.apache.log4j.FileAppender",
        "log4j.appender.file.File=" + logFile,
        "log4j.appender.file.layout=org.apache.log4j.PatternLayout",
        "log4j.appender.file.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{2}: %m%n",
        ""));
    return file.toUri().toString();
  }
}
