"""screen.py: what a terminal would show, as far as vim and top need it.

    s = Screen(80, 24)
    s.feed(b"\\x1b[2;1Hhello")
    s.lines()[1]        # "hello"
"""
import re

# what is shown or done, one at a time; an incomplete end waits for the rest
TOKEN = re.compile(
    rb"\x1b\[(?P<args>[\x30-\x3f]*)[\x20-\x2f]*(?P<csi>[\x40-\x7e])"
    rb"|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)"   # titles, questions
    rb"|\x1b[()#%][\x20-\x7e]"
    rb"|\x1b(?P<esc>[^\[\]P()#%])"
    rb"|(?P<text>[\x20-\x7e\x80-\xff]+)"
    rb"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])")


class Screen:
    def __init__(self, cols, rows):
        self.resize(cols, rows)

    def resize(self, cols, rows):
        self.cols, self.rows = cols, rows
        self.cells = [[" "] * cols for _ in range(rows)]
        self.x = self.y = 0
        self.top, self.bottom = 0, rows - 1
        self.left = b""

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, data):
        data = self.left + data
        at = 0
        while (m := TOKEN.match(data, at)) is not None:
            at = m.end()
            if m["text"]:
                self._text(m["text"].decode("latin-1"))
            elif m["control"]:
                self._control(m["control"])
            elif m["csi"]:
                self._csi(m["csi"].decode(), m["args"].decode())
            elif m["esc"] == b"M":
                self._reverse()
        self.left = data[at:]

    def _text(self, text):
        for c in text:
            if self.x == self.cols:
                self.x = 0
                self._newline()
            self.cells[self.y][self.x] = c
            self.x += 1

    def _control(self, c):
        if c == b"\r":
            self.x = 0
        elif c == b"\n":
            self._newline()
        elif c == b"\b":
            self.x = max(0, self.x - 1)
        elif c == b"\t":
            self.x = min(self.cols - 1, self.x // 8 * 8 + 8)

    def _shift(self, top, bottom, count):
        """Moves lines up by `count`, down if it is negative."""
        for _ in range(min(abs(count), bottom - top + 1)):
            gone, new = (top, bottom) if count > 0 else (bottom, top)
            del self.cells[gone]
            self.cells.insert(new, [" "] * self.cols)

    def _newline(self):
        if self.y == self.bottom:
            self._shift(self.top, self.bottom, 1)
        else:
            self.y = min(self.rows - 1, self.y + 1)

    def _reverse(self):
        if self.y == self.top:
            self._shift(self.top, self.bottom, -1)
        else:
            self.y = max(0, self.y - 1)

    def _csi(self, what, args):
        if args[:1] in ("?", ">", "<", "="):
            return
        n = [int(a) if a.isdigit() else 0 for a in args.split(";")]
        first = max(1, n[0])
        if what in "Hf":
            self.y = min(self.rows, first) - 1
            self.x = min(self.cols, max(1, n[1] if len(n) > 1 else 1)) - 1
        elif what in "ABCD":
            dx, dy = {"A": (0, -1), "B": (0, 1), "C": (1, 0), "D": (-1, 0)}[what]
            self.x = min(self.cols - 1, max(0, self.x + dx * first))
            self.y = min(self.rows - 1, max(0, self.y + dy * first))
        elif what == "G":
            self.x = min(self.cols, first) - 1
        elif what == "d":
            self.y = min(self.rows, first) - 1
        elif what == "K":
            self._erase(n[0])
        elif what == "J":
            self._clear(n[0])
        elif what == "r":
            self.top, self.bottom = first - 1, (
                n[1] if len(n) > 1 and n[1] else self.rows) - 1
            self.x = self.y = 0
        elif what in "LM":
            self._shift(self.y, self.bottom, first if what == "M" else -first)

    def _erase(self, how):
        row = self.cells[self.y]
        for x in {0: range(self.x, self.cols), 1: range(0, self.x + 1),
                  2: range(self.cols)}[how]:
            if x < self.cols:
                row[x] = " "

    def _clear(self, how):
        for y in {0: range(self.y + 1, self.rows), 1: range(self.y),
                  2: range(self.rows), 3: ()}[how]:
            self.cells[y] = [" "] * self.cols
        if how < 2:
            self._erase(how)
