"""The programs that race each other, as child processes that obey one line at a time."""

import ctypes
import os
import subprocess
import threading

PR_SET_THP_DISABLE = 41
NEVER_HUGE = '4K'
ALWAYS_HUGE = '2M'
READERS = 2
# What has not answered by then is ended: nothing here takes so long.
ANSWER_SECONDS = 600


def fields(line):
    """{'ns': 12.0} of 'OK ns=12'."""
    return {name: float(value) for name, value in
            (word.split('=') for word in line.split() if '=' in word)}


class Peer:
    """A child process. What it says on stderr goes to a log, which is shown if it fails."""

    def __init__(self, command, log, pages=NEVER_HUGE, env=None):
        self.command = command
        self.log_path = log
        with open(log, 'w', encoding='utf-8') as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env={**os.environ, **(env or {})},
                preexec_fn=_forbid_huge_pages if pages == NEVER_HUGE else None)

    def answer(self, beginnings=('READY', 'OK'), seconds=ANSWER_SECONDS):
        """The next line that begins so, and those before it, which begin with '. '."""
        lines = []
        guard = threading.Timer(seconds, self.process.kill)
        guard.start()
        try:
            for line in self.process.stdout:
                if line.startswith(beginnings):
                    return line.rstrip('\n'), lines
                if not line.startswith('. '):
                    break
                lines.append(line[2:].rstrip('\n'))
        finally:
            guard.cancel()
        self.fail()

    def tell(self, command, seconds=ANSWER_SECONDS):
        try:
            self.process.stdin.write(command + '\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            self.fail()
        return self.answer(seconds=seconds)

    def fail(self):
        with open(self.log_path, encoding='utf-8') as log:
            tail = log.read()[-2000:]
        raise RuntimeError(f'{self.command[0]} failed: {tail}')

    def pin_readers(self):
        """Ties the threads reader-0 and reader-1, once they are called so, to a processor each."""
        processors = sorted(os.sched_getaffinity(0))
        pinned = set()
        while len(pinned) < READERS:
            for task, name in self._threads():
                if name.startswith('reader-'):
                    os.sched_setaffinity(task, {processors[int(name[7:]) % len(processors)]})
                    pinned.add(name)
            if self.process.poll() is not None:
                self.fail()

    def _threads(self):
        """Number and name of each."""
        tasks = f'/proc/{self.process.pid}/task'
        for task in os.listdir(tasks):
            try:
                with open(f'{tasks}/{task}/comm', encoding='utf-8') as file:
                    yield int(task), file.read().strip()
            except FileNotFoundError:
                pass  # it has just ended

    def huge_bytes(self):
        """How much of its memory lies in pages of 2 MiB."""
        with open(f'/proc/{self.process.pid}/smaps_rollup', encoding='utf-8') as file:
            return sum(int(line.split()[1]) * 1024 for line in file
                       if line.startswith('AnonHugePages'))

    def close(self):
        """Ends it: by the end of its input, which each of them takes for a goodbye."""
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def _forbid_huge_pages():
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
