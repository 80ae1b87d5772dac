package keyroute.cluster;

import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * The command language: one line a command, words divided by spaces; data lines of an answer begin
 * with ". ", and its last line is "OK ..." or "ERR reason".  What the commands do is said in the
 * classes named ...Commands, which register them here.
 */
final class Commands {
  /** Does one command; writes data lines to the answer and returns the text after "OK". */
  interface Action {
    String run(List<String> words, Answer answer) throws Exception;
  }

  /** Takes the data lines of one answer. */
  interface Answer {
    void line(String text);
  }

  private record Command(String usage, int fewestWords, Action action) {}

  private final Map<String, Command> commands = new LinkedHashMap<>();

  Commands() {
    add("help", 0, (words, answer) -> help(answer));
    add("quit", 0, (words, answer) -> "bye");
  }

  /** usage = the name, then its arguments; the fewest words it needs after the name. */
  void add(String usage, int fewestWords, Action action) {
    commands.put(usage.split(" ")[0], new Command(usage, fewestWords, action));
  }

  /** Returns false after "quit". */
  boolean execute(String line, PrintStream out) {
    List<String> words = Arrays.asList(line.trim().split("\\s+"));
    String name = words.get(0);
    if (name.isEmpty()) {
      return true;
    }
    Command command = commands.get(name);
    if (command == null) {
      out.println("ERR unknown command " + name + "; try help");
      return true;
    }
    List<String> arguments = words.subList(1, words.size());
    if (arguments.size() < command.fewestWords()) {
      out.println("ERR usage: " + command.usage());
      return true;
    }
    try {
      String result = command.action().run(arguments, text -> out.println(". " + text));
      out.println(result.isEmpty() ? "OK" : "OK " + result);
    } catch (Throwable trouble) {
      out.println("ERR " + describe(trouble));
    }
    return !name.equals("quit");
  }

  /** An exception as one line: what wraps it is peeled off first. */
  static String describe(Throwable trouble) {
    Throwable cause = unwrap(trouble);
    String text = cause.getMessage() == null ? "" : ": " + cause.getMessage();
    String name = cause.getClass().getSimpleName();
    return (name + text).split("[\\r\\n]")[0].trim();
  }

  static Throwable unwrap(Throwable trouble) {
    Throwable cause = trouble;
    while (cause.getCause() != null && (cause instanceof ExecutionException
        || cause instanceof CompletionException || cause instanceof InvocationTargetException)) {
      cause = cause.getCause();
    }
    return cause;
  }

  private String help(Answer answer) {
    commands.values().forEach(command -> answer.line(command.usage()));
    return "";
  }
}
