// A run that goes on: reads its log as it grows, and says how far it is. A page in a file has none of this.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model, panel, Collector, parseLine } = view;
  const { run } = model;
  if (!run.live) return;
  const byId = (id) => document.getElementById(id);
  const NEXT_AFTER_MS = 2500; // long enough to see the end of a repetition, and to stay there
  const LINES_AT_ONCE = 64;

  // -- the stream -----------------------------------------------------------------------------------------------------

  // Pieces of text, cut anywhere, as lines. A page that is hidden only collects pieces: its frames stand still.
  class Lines {
    constructor() {
      Object.assign(this, { pieces: [], at: 0, begun: "" });
    }

    isEmpty() { return this.pieces.length === 0; }
    push(piece) { if (piece) this.pieces.push(piece); }

    // The next whole line, or null if there is none yet.
    next() {
      while (this.pieces.length) {
        const piece = this.pieces[0], end = piece.indexOf("\n", this.at);
        const line = this.begun + piece.slice(this.at, end < 0 ? undefined : end);
        this.at = end + 1;
        if (end < 0 || this.at === piece.length) {
          this.pieces.shift();
          this.at = 0;
        }
        this.begun = end < 0 ? line : "";
        if (end >= 0) return line;
      }
      return null;
    }
  }

  const lines = new Lines();
  let isOpen = true;
  async function read() {
    try {
      const reply = await fetch(`log?repetition=${run.repetition}`);
      const reader = reply.ok ? reply.body.pipeThrough(new TextDecoderStream()).getReader() : null;
      for (let next = await reader?.read(); next && !next.done; next = await reader.read()) lines.push(next.value);
    } catch { // the connection broke; what is said then depends on the lines that have come
    }
    isOpen = false;
  }

  // -- what is in it --------------------------------------------------------------------------------------------------

  const collector = new Collector(model.tables);
  let said = { share: 0, words: "", begun: [run.repetition], status: "running", ended: false };
  let number = 0, hasNote = false, isFinished = false;

  function takeLine(line) {
    number++;
    try {
      const read = parseLine(line);
      if (read.live) said = { ...said, ...read.live };
      else collector.take(read);
    } catch {
      if (!hasNote) byId("notes").append(panel.element("li", `Line ${number} makes no sense; it is left out, and so are others like it.`));
      hasNote = true;
    }
  }

  // How events come, as running means: the time between two batches of them (ms), and the ticks that a batch brings.
  const rhythm = { at: null, gap: 200, ticks: 0, pace: () => rhythm.ticks / rhythm.gap };
  function measure(clock, grown) {
    if (rhythm.at !== null) {
      rhythm.gap += 0.2 * (Math.min(1000, clock - rhythm.at) - rhythm.gap);
      rhythm.ticks += 0.2 * (grown - rhythm.ticks);
    }
    rhythm.at = clock;
  }

  // Reads the lines that have come, for so many milliseconds at most. Whether there is something new.
  function take(clock, milliseconds) {
    const before = model.tables.end, began = performance.now(), first = number;
    let line = null;
    do {
      for (let i = 0; i < LINES_AT_ONCE && (line = lines.next()) !== null; i++) takeLine(line);
    } while (line !== null && performance.now() - began < milliseconds);
    if (model.tables.end > before && lines.isEmpty()) measure(clock, model.tables.end - before);
    const ends = !isOpen && lines.isEmpty() && !isFinished;
    if (ends) finish();
    else if (number > first) tell();
    return ends || number > first;
  }

  // -- what is said of it ---------------------------------------------------------------------------------------------

  function finish() {
    isFinished = true;
    collector.finish();
    turn();
  }

  // This repetition has ended, or the viewer has begun to follow the run, or leaves it: whether the next one is shown.
  let going = null;
  function turn() {
    tell();
    clearTimeout(going);
    const next = isFinished ? nextRepetition() : null;
    if (next !== null && view.isFollowing()) going = setTimeout(() => goOn(next), NEXT_AFTER_MS);
  }

  function nextRepetition() {
    const later = said.begun.filter((one) => one > run.repetition);
    return collector.hasStopped && !said.ended && later.length ? Math.min(...later) : null;
  }

  // Not before the page is known to be there: the run may have ended meanwhile.
  async function goOn(next) {
    const address = `?repetition=${next}`;
    const isThere = await fetch(address).then((reply) => reply.ok, () => false);
    if (!view.isFollowing()) return;
    if (isThere) location.assign(address);
    else write("live-said", `Repetition ${next} is no longer served. This page keeps what it has.`);
  }

  // Texts are written only if they change, so that a screen reader says each once.
  function write(id, text) {
    if (byId(id).textContent !== text) byId(id).textContent = text;
  }

  function outcome() {
    const keeps = "This page keeps what it has";
    if (said.ended) {
      const command = `\`testbed view ${said.directory ?? run.directory}\``;
      return `The run has ended: ${said.status}. ${keeps}; ${command} makes a file with the agents' states.`;
    }
    if (isFinished && !collector.hasStopped) return `The run is no longer served: the connection broke. ${keeps}.`;
    if (!collector.hasStopped) return "";
    const next = isFinished ? nextRepetition() : null;
    if (next === null) return "This repetition has ended.";
    return view.isFollowing() ? `This repetition has ended; repetition ${next} follows.` : `This repetition has ended, repetition ${next} has begun.`;
  }

  function tell() {
    const { share, words, begun, of, ended, status } = said;
    byId("live-share").value = share;
    const isBroken = isFinished && !collector.hasStopped && !ended;
    const parts = [isBroken ? "connection broken" : status, `${Math.floor(share * 100)} %`, ended || isBroken ? "" : words];
    write("live-words", parts.filter(Boolean).join(" · "));
    write("live-said", outcome());
    const several = (of ?? begun.length) > 1;
    byId("live-repetitions").hidden = !several;
    if (several) offerRepetitions(begun, of);
    panel.about();
  }

  let offered = "";
  function offerRepetitions(begun, of) {
    if (offered === String(begun)) return;
    offered = String(begun);
    write("live-begun", `Repetitions begun: ${begun.length}${of ? ` of ${of}` : ""}`);
    panel.fill("live-choice", ...begun.map((one) => {
      const item = panel.element("li"), link = panel.element("a", String(one));
      link.href = `?repetition=${one}`;
      if (one === run.repetition) link.setAttribute("aria-current", "page");
      item.append(link);
      return item;
    }));
  }

  // -- begin ----------------------------------------------------------------------------------------------------------

  for (const element of document.querySelectorAll(".live-only")) element.hidden = false;
  view.live = {
    Lines, take, rhythm, turn,
    isBehind: () => !lines.isEmpty(), // there are lines that have come and are not read
    isOver: () => isFinished && nextRepetition() === null,
  };
  read();
})();
