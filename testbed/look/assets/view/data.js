// Reads what the page holds: JSON blocks, with long lists of whole numbers packed as text (see view/columns.py).
(() => {
  "use strict";
  const view = (window.testbedView = { began: performance.now() });

  function block(id) {
    return JSON.parse(document.getElementById(id).textContent);
  }

  // Differences as zigzag varints in base64. Numbers may be beyond 32 bits, so there is no bit arithmetic on sums.
  function numbers(text) {
    const bytes = atob(text);
    let count = 0;
    for (let i = 0; i < bytes.length; i++) if (bytes.charCodeAt(i) < 128) count++;
    const found = new Float64Array(count);
    let before = 0, rest = 0, scale = 1, place = 0;
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes.charCodeAt(i);
      if (byte >= 128) {
        rest += (byte - 128) * scale;
        scale *= 128;
      } else {
        rest += byte * scale;
        before += rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2;
        found[place++] = before;
        rest = 0;
        scale = 1;
      }
    }
    return found;
  }

  // The place of the last number that is at most `limit`, in ascending numbers; -1 if there is none.
  function lastUpTo(ascending, limit, length = ascending.length) {
    let low = 0, high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ascending[middle] <= limit) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // Rows with a start and an end, in order of their starts; what goes on ends at Infinity. Blocks know their latest end,
  // so that a search for what goes on at a time can leave out most of them.
  const BLOCK = 256;
  class Spans {
    constructor(from = [], to = []) {
      Object.assign(this, { from, to, latest: [], open: [] });
      for (let i = 0; i < to.length; i++) this.note(i);
    }

    note(i) {
      const place = Math.floor(i / BLOCK);
      if (!(this.latest[place] >= this.to[i])) this.latest[place] = this.to[i];
    }

    // Adds a row that goes on. Of these, blocks know how many they have: their latest end is still to come.
    begin(t) {
      const i = this.from.push(t) - 1, place = Math.floor(i / BLOCK);
      this.to.push(Infinity);
      this.open[place] = (this.open[place] ?? 0) + 1;
      return i;
    }

    close(i, t) {
      this.to[i] = t;
      this.open[Math.floor(i / BLOCK)]--;
      this.note(i);
    }

    // Calls `take` with every row that begins at `end` or earlier and ends after `start`.
    each(start, end, take) {
      const last = lastUpTo(this.from, end);
      for (let first = 0, place = 0; first <= last; first += BLOCK, place++) {
        if (!this.open[place] && this.latest[place] <= start) continue;
        const beyond = Math.min(first + BLOCK - 1, last);
        for (let i = first; i <= beyond; i++) if (this.to[i] > start) take(i);
      }
    }
  }

  Object.assign(view, { block, numbers, lastUpTo, Spans });
})();
