// Adds the lines of a log to tables, one after the other: what `view/happenings.py` does for a file.
(() => {
  "use strict";
  const view = window.testbedView;
  const { add, WAITING, INSIDE, CRASHED, CUT_OFF, ARRIVED, RETURNED, LOST, UNDECIDED } = view.tables;
  const MAX_FIELDS = 200_000, MAX_SIZE = 20_000_000, MAX_MARKS = 10_000; // as there
  const MAX_NAME = 80, MAX_MARK = 500, MAX_TEXT = 20_000, MAX_ITEMS = 1000, MAX_DEPTH = 500;

  // -- texts ----------------------------------------------------------------------------------------------------------

  // The first letters of a text. A letter may be two places of a string, and no letter is cut in half.
  function firstLetters(text, letters) {
    return text.length <= letters ? text : Array.from(text.slice(0, 2 * letters)).slice(0, letters).join("");
  }

  function count(text) {
    let letters = 0;
    for (const _ of text) letters++;
    return letters;
  }

  const isLonger = (text, letters) => text.length > letters && (text.length > 2 * letters || count(text) > letters);
  const cut = (text, letters) => (isLonger(text, letters) ? `${firstLetters(text, letters)}… (${count(text)} characters)` : text);

  // Fields without texts that no one can read.
  function short(value, depth = 0) {
    if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
    if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((one) => short(one, depth + 1));
    return typeof value === "string" ? cut(value, MAX_TEXT / 10) : value;
  }

  // JSON in the letters of ASCII, as Python writes it: the length decides where a value is cut off.
  function ascii(value) {
    const code = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, code);
  }

  // The detail of a fault, as Python prints it.
  function printed(value) {
    if (value === null) return "None";
    if (Array.isArray(value)) return `[${value.map(printed).join(", ")}]`;
    if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `'${k}': ${printed(v)}`).join(", ")}}`;
    if (typeof value === "boolean") return value ? "True" : "False";
    return typeof value === "string" ? `'${value}'` : String(value);
  }

  // Numbers that JSON cannot express, or that a browser cannot hold exactly, become texts.
  const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?Infinity|NaN|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const UNUSUAL = /NaN|Infinity|\d{16}/, EXACT = 2n ** 53n;
  const PYTHON = { NaN: '"nan"', Infinity: '"inf"', "-Infinity": '"-inf"' };

  function parse(line) {
    if (!UNUSUAL.test(line)) return JSON.parse(line);
    return JSON.parse(line.replace(TOKENS, (token) => {
      if (token in PYTHON) return PYTHON[token];
      return /^-?\d{16,}$/.test(token) && BigInt(token.replace("-", "")) > EXACT ? `"${token}"` : token;
    }));
  }

  // Values, each once: the place of a value in a list.
  class Places {
    constructor(list) {
      Object.assign(this, { list, known: new Map(), size: 0 });
    }

    of(value, text = value) {
      if (!this.known.has(text)) {
        this.known.set(text, this.list.length);
        this.size += Math.min(text.length, MAX_TEXT);
        this.list.push(text === value || text.length <= MAX_TEXT ? value : `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`);
      }
      return this.known.get(text);
    }
  }

  // -- lines ----------------------------------------------------------------------------------------------------------

  class Collector {
    constructor(tables) {
      this.tables = tables;
      this.hasStarted = this.hasStopped = false;
      this.now = 0;
      this.kinds = new Places(tables.kinds);
      this.names = new Places(tables.names);
      this.values = new Places(tables.values);
      this.onTheirWay = new Map(); // "sender receiver id" -> message
      this.pairs = new Map(); // "a b" -> the link of two nodes: who knows of it, since when, and its row
      this.delays = { measured: 0, next: 1 };
    }

    // One event. An event that cannot be raises an error.
    take(event) {
      const { kind } = event;
      if (!Object.hasOwn(HANDLERS, kind)) return;
      if (this.hasStarted === (kind === "start")) throw new Error("a log has one start, and that first");
      if (!Number.isSafeInteger(event.t) || event.t < 0) throw new Error("no time");
      if (event.t < this.now && kind !== "breach") throw new Error("time runs backwards"); // a breach is logged at the end
      HANDLERS[kind].call(this, event.t, this.node(event.node, NOT_OF_A_NODE.has(kind)), event);
      this.now = Math.max(this.now, event.t);
    }

    // The number of a node that there is; -1 for none.
    node(number, orNone = false) {
      if (orNone && number === null) return -1;
      if (!Number.isInteger(number) || !(number in this.tables.held)) throw new Error(`no such node: ${number}`);
      return number;
    }

    note(t, node, kind, about = -1) {
      const { tables } = this;
      tables.end = Math.max(tables.end, t);
      add(tables.events, { t, node, kind: this.kinds.of(kind), about });
      if (kind === "enter") tables.entries.push(t);
    }

    mark(t, node, text) {
      const { marks } = this.tables;
      if (marks.length >= MAX_MARKS) return;
      marks.push([t, node, "fault", firstLetters(text, MAX_MARK)]);
      if (marks.length > 1 && t < marks.at(-2)[0]) marks.sort((one, other) => one[0] - other[0]);
    }

    name(text) {
      if (typeof text !== "string") throw new Error("no name");
      return this.names.of(isLonger(text, MAX_NAME) ? `${firstLetters(text, MAX_NAME)}…` : text);
    }

    // -- what goes on, until it ends ----------------------------------------------------------------------------------

    goesOn(list) {
      return list.to.length > 0 && list.to.at(-1) === Infinity;
    }

    begin(t, node, what) {
      const list = this.tables.intervals[node][what];
      if (!this.goesOn(list)) add(list, { from: t, to: Infinity });
    }

    end(t, node, ...whats) {
      for (const what of whats) {
        const list = this.tables.intervals[node][what];
        if (this.goesOn(list)) list.to[list.to.length - 1] = t;
      }
    }

    // A node is at another place from now on, or at none.
    go(t, node, group) {
      const list = this.tables.stays[node];
      if (this.goesOn(list)) list.to[list.to.length - 1] = t;
      if (group !== null) add(list, { from: t, to: Infinity, group });
    }

    // One end learns of a link, or that it is gone. There is a link as long as either end knows of one.
    know(t, one, other, node, isUp) {
      const { links } = this.tables;
      const [a, b] = one < other ? [one, other] : [other, one];
      const key = `${a} ${b}`;
      if (!this.pairs.has(key)) this.pairs.set(key, { a, b, ends: new Set(), row: null });
      const pair = this.pairs.get(key);
      if (pair.ends.has(node) === isUp) return;
      if (isUp) pair.ends.add(node);
      else pair.ends.delete(node);
      if (pair.row !== null && pair.ends.size && links.from[pair.row] === t) { // as if both had learnt of it at once
        links.ends[pair.row] = pair.ends.size;
        return;
      }
      if (pair.row !== null) links.spans.close(pair.row, t);
      pair.row = pair.ends.size ? links.spans.begin(t) : null;
      if (pair.row !== null) add(links, { a, b, ends: pair.ends.size });
    }

    // -- what nodes and places hold -----------------------------------------------------------------------------------

    hold(t, node, units, tokens) {
      const list = this.tables.held[node];
      if (list.units.at(-1) !== units || list.tokens.at(-1) !== tokens) add(list, { t, units, tokens });
    }

    get(t, node, units, tokens) {
      const list = this.tables.held[node];
      if (units || tokens) this.hold(t, node, list.units.at(-1) + units, list.tokens.at(-1) + tokens);
    }

    keep(t, group, units) {
      const list = this.tables.kept[group];
      if (units) add(list, { t, units: list.units.at(-1) + units });
    }

    // -- messages -----------------------------------------------------------------------------------------------------

    send(t, node, { peer, id, type, units, tokens, fields }) {
      const { messages } = this.tables;
      const hasRoom = messages.t.length < MAX_FIELDS && this.values.size < MAX_SIZE;
      const place = hasRoom ? this.fields(fields) : -1;
      add(messages, { from: node, to: this.node(peer), type: this.name(type), units, tokens, fate: UNDECIDED, fields: place });
      const number = messages.spans.begin(t);
      this.note(t, node, "send", number);
      this.onTheirWay.set(`${node} ${peer} ${id}`, number);
      this.get(t, node, -units, -tokens);
    }

    fields(fields) {
      try {
        const value = short(fields);
        return this.values.of(value, ascii(value));
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return this.fields(["… (nested too deeply)"]);
      }
    }

    arrive(t, from, to, id, fate) {
      const { messages } = this.tables;
      const key = `${from} ${to} ${id}`;
      const number = this.onTheirWay.get(key) ?? -1;
      if (number < 0) return -1;
      this.onTheirWay.delete(key);
      messages.spans.close(number, t);
      messages.fate[number] = fate;
      if (fate === ARRIVED && ++this.delays.measured >= this.delays.next) this.measure();
      return number;
    }

    // The middle one of all delays. Measured whenever there are twice as many, so that this takes little time.
    measure() {
      const { t, until, fate } = this.tables.messages;
      const delays = Float64Array.from(t.keys()).filter((i) => fate[i] === ARRIVED).map((i) => until[i] - t[i]).sort();
      this.tables.typicalDelay = delays.length ? delays[Math.floor(delays.length / 2)] : 0;
      this.delays.next = 2 * delays.length;
    }

    // There will be no more lines. What became of messages that are on their way now, the log does not say.
    finish() {
      this.measure();
      const { messages, end, typicalDelay } = this.tables;
      messages.until.forEach((until, i) => {
        if (until === Infinity) messages.spans.close(i, Math.min(end, messages.t[i] + typicalDelay));
      });
    }
  }

  const NOT_OF_A_NODE = new Set(["start", "stop", "partition", "fault", "breach", "close"]);
  const HANDLERS = {
    start(t, _, { units, tokens, links, groups, kept, over_radio: areFound }) {
      if (units.length !== this.tables.held.length) throw new Error("another number of nodes");
      this.hasStarted = true;
      units.forEach((_, node) => add(this.tables.held[node], { t, units: units[node], tokens: tokens[node] }));
      for (const [a, b] of areFound ? [] : links) for (const node of [a, b]) this.know(t, this.node(a), this.node(b), node, true);
      groups.forEach((group, node) => this.go(t, node, group));
      kept.forEach((amount, group) => add(this.tables.kept[group], { t, units: amount }));
    },
    stop(t, node) {
      this.note(t, node, "stop");
      this.hasStopped = true;
    },
    partition(t, node, { parts, cut_off: cutOff }) {
      this.note(t, node, "partition", parts);
      add(this.tables.parts, { t, count: parts });
      const now = new Set(cutOff);
      this.tables.intervals.forEach((_, one) => (now.has(one) ? this.begin(t, one, CUT_OFF) : this.end(t, one, CUT_OFF)));
    },
    fault(t, node, { fault, detail }) {
      this.note(t, node, "fault");
      this.mark(t, node, `${fault} ${detail === null ? "" : typeof detail === "string" ? detail : printed(detail)}`.trim());
    },
    breach(t, node, { event, why }) {
      this.note(t, node, "breach");
      this.mark(t, node, `breach of the contract in ${event}: ${why}`);
    },
    close(t, node) { this.note(t, node, "close"); },

    request(t, node) {
      this.note(t, node, "request");
      this.begin(t, node, WAITING);
    },
    enter(t, node) {
      this.note(t, node, "enter");
      this.end(t, node, WAITING);
      this.begin(t, node, INSIDE);
    },
    exit(t, node) {
      this.note(t, node, "exit");
      this.end(t, node, INSIDE);
    },
    evict(t, node) {
      this.note(t, node, "evict");
      this.end(t, node, INSIDE);
    },
    timer(t, node, { name }) { this.note(t, node, "timer", this.name(name)); },
    crash(t, node) {
      this.note(t, node, "crash");
      this.mark(t, node, `node ${node} crashes`);
      this.end(t, node, WAITING, INSIDE);
      this.begin(t, node, CRASHED);
      this.hold(t, node, 0, 0);
      this.go(t, node, null);
      for (const { a, b } of this.pairs.values()) if (a === node || b === node) this.know(t, a, b, node, false);
    },
    restart(t, node, { incarnation }) {
      this.note(t, node, "restart", incarnation);
      this.mark(t, node, `node ${node} restarts`);
      this.end(t, node, CRASHED);
    },
    miscount(t, node, { said_units: units, said_tokens: tokens }) {
      this.note(t, node, "miscount");
      this.hold(t, node, units, tokens);
    },

    join(t, node, { group, units, tokens }) {
      this.note(t, node, "join", group);
      this.go(t, node, group);
      this.get(t, node, units, tokens);
      this.keep(t, group, -units);
    },
    leaving(t, node, { group }) { this.note(t, node, "leaving", group); },
    left(t, node, { group }) {
      this.note(t, node, "left", group);
      this.end(t, node, WAITING, INSIDE);
      this.go(t, node, null);
      this.hold(t, node, 0, 0);
    },
    deposit(t, node, { group, units, tokens }) {
      this.note(t, node, "deposit", group);
      this.get(t, node, -units, -tokens);
      this.keep(t, group, units);
    },
    refused(t, node, { group, units, tokens }) {
      this.note(t, node, "refused", group);
      this.get(t, node, units, tokens);
      this.keep(t, group, -units);
    },
    regenerate(t, node, { group, units, tokens }) {
      this.note(t, node, "regenerate", group);
      this.get(t, node, units, tokens);
    },

    link_up(t, node, { peer }) {
      this.note(t, node, "link_up", peer);
      this.know(t, node, this.node(peer), node, true);
    },
    link_down(t, node, { peer }) {
      this.note(t, node, "link_down", peer);
      this.know(t, node, this.node(peer), node, false);
    },

    send(t, node, event) { this.send(t, node, event); },
    recv(t, node, { peer, id, units, tokens }) {
      this.note(t, node, "recv", this.arrive(t, peer, node, id, ARRIVED));
      this.get(t, node, units, tokens);
    },
    return(t, node, { peer, id, units, tokens }) {
      this.note(t, node, "return", this.arrive(t, node, peer, id, RETURNED));
      this.get(t, node, units, tokens);
    },
    relay(t, node, { source, target, id }) {
      const number = this.onTheirWay.get(`${source} ${target} ${id}`) ?? -1;
      this.note(t, node, "relay", number);
      if (number < 0) return;
      const { relays } = this.tables;
      if (!relays.has(number)) relays.set(number, { t: [], node: [] });
      add(relays.get(number), { t, node });
    },
    lost(t, node, { peer, id, type, why }) {
      this.note(t, node, "lost", this.arrive(t, node, peer, id, LOST));
      if (why === "fault") this.mark(t, node, `a message ${firstLetters(type, MAX_NAME)} of node ${node} to node ${peer} is lost`);
    },
  };

  Object.assign(view, { Collector, parseLine: parse });
})();
