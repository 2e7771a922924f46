// Time, keys and pointers: what moves the two drawings.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model, marks, live, lastUpTo } = view; // of a page in a file, `live` is undefined
  const byId = (id) => document.getElementById(id);
  const SCRUB_STEPS = 100_000;
  const KINDS = ["event", "entry", "fault", "violation"]; // of moments to step to
  const PANEL_MS = 150; // texts change less often than drawings: no one reads faster
  const READ_MS = 12; // of every frame, for lines that have come

  const look = { selected: null, nodes: null, onlyTokens: false, hiddenTypes: new Set(), tree: model.nodes <= 60,
    heights: model.nodes <= (model.hasPositions ? 15 : 40), zoom: { factor: 1, x: 0, y: 0 } };
  const state = { t: 0, playing: false, following: false, goal: null, speed: 1, span: 1, from: 0, dirty: true, grown: false,
    places: [], panelAt: -Infinity };
  const timing = { openedMs: null, frames: 0, drawMs: 0, longestMs: 0 };

  // -- scales of time -------------------------------------------------------------------------------------------------

  const perUnit = model.run.ticks;
  const LADDER = [];
  for (let power = -6; power <= 6; power++) for (const factor of [1, 2, 5]) LADDER.push(Number(`${factor}e${power}`));
  const nearest = (value) => LADDER.reduce((best, one) => (Math.abs(Math.log(one / value)) < Math.abs(Math.log(best / value)) ? one : best));

  function offer(select, chosen, low, high) {
    const offered = LADDER.filter((step) => step >= low && step <= high);
    select.replaceChildren(...offered.map((one) => new Option(String(one))));
    select.value = String(chosen);
  }

  // Speeds and stretches that suit the run as long as it is now. What the user has chosen stays, and who looks back at
  // a run that goes on keeps what is shown.
  const chosen = { speed: null, span: null };
  let scaledTo = null;
  function scale() {
    const length = model.end / perUnit;
    const delay = model.typicalDelay > 0 ? model.typicalDelay / perUnit : length / 500;
    const keeps = scaledTo !== null && !state.following;
    const speed = chosen.speed ?? (keeps ? state.speed : nearest(Math.max(1e-6, Math.sqrt((delay * length) / 250))));
    const crowd = model.messages.t.length ? (60 * length) / model.messages.t.length : length / 20; // has 60 messages
    // Of a run that is followed, at least what passes in three seconds: else a stretch would be gone before one sees it.
    const passing = state.following ? (3000 * live.rhythm.pace()) / perUnit : 0;
    const fitting = nearest(Math.max(1e-6, Math.min(length, Math.max(speed * 5, crowd, passing))));
    const span = chosen.span ?? (keeps ? state.span / perUnit : fitting);
    offer(byId("speed"), speed, Math.min(speed, delay / 50), Math.max(speed, length));
    offer(byId("span"), span, Math.min(span, delay / 5), Math.max(span, length * 1.5));
    Object.assign(state, { speed, span: span * perUnit, dirty: true });
    scaledTo = { length, pace: live ? live.rhythm.pace() : 0 };
  }

  // Of a run that goes on, now and then: not while a list is open, nor so often that the diagram is restless.
  function scaleAgain() {
    const differs = (a, b) => Math.max(a, b) > 2 * Math.min(a, b);
    const isOther = differs(scaledTo.length, model.end / perUnit) ||
      (state.following && differs(scaledTo.pace, live.rhythm.pace()));
    if (isOther && !/^(speed|span)$/.test(document.activeElement?.id ?? "")) scale();
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  const mapCanvas = byId("map"), diagram = byId("spacetime");

  function fit(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(50, canvas.clientWidth), height = Math.max(50, canvas.clientHeight);
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { ctx, width, height };
  }

  // The stretch moves with the time, which stands at seven tenths of it, or near its end at the end of the run.
  function moveStretch() {
    const { t, span } = state;
    const last = state.following ? t : model.end; // events come in batches, and the shown time moves evenly
    state.from = Math.max(0, Math.min(t - 0.7 * span, last - (live ? 0.95 : 1) * span));
  }

  view.drawMap = (ctx, width, height) => view.map.draw(ctx, width, height, state.t, look);
  view.drawDiagram = (ctx, width, height) => view.spacetime.draw(ctx, width, height, state.from, state.span, state.t, look);
  view.sizes = () => ({ width: Math.max(mapCanvas.clientWidth, 640), mapHeight: mapCanvas.clientHeight, diagramHeight: diagram.clientHeight });
  view.stretchEnd = () => state.following ? Infinity : Math.min(model.end, Math.max(state.from + state.span, state.t + state.span / 4));

  function render(clock, isDirty) {
    const began = performance.now();
    moveStretch();
    const onMap = fit(mapCanvas);
    state.places = view.drawMap(onMap.ctx, onMap.width, onMap.height);
    const below = fit(diagram);
    const thinned = view.drawDiagram(below.ctx, below.width, below.height);
    if (!isDirty) {
      position();
    } else if (clock - state.panelAt >= PANEL_MS || !state.playing) {
      state.panelAt = clock;
      texts(thinned);
    }
    const took = performance.now() - began;
    timing.frames++;
    timing.drawMs += took;
    timing.longestMs = Math.max(timing.longestMs, took);
    if (timing.openedMs === null) timing.openedMs = performance.now();
  }

  function texts(thinned) {
    const { t } = state;
    view.panel.node(look.selected, t);
    view.panel.now(t);
    if (state.playing) byId("said").textContent = "";
    else view.panel.said(t);
    if (document.activeElement !== byId("time")) byId("time").value = state.playing ? view.panel.brief(t) : model.units(t);
    position();
    byId("scrub").setAttribute("aria-valuetext", `${view.panel.brief(t)} time units`);
    byId("thinned").textContent = thinned
      ? `${thinned.seen.toLocaleString("en")} messages in this stretch; drawn: ${share(thinned.tokens)} with tokens, ` +
        `${share(thinned.others)} of the others. Choose a shorter stretch, or filter.`
      : "";
  }

  // Where the time is in the run, and what there is to step to.
  function position() {
    byId("scrub").value = String(Math.round((state.t / model.end) * SCRUB_STEPS));
    byId("link").setAttribute("href", hash());
    for (const kind of KINDS) {
      const none = model.moments[kind].length === 0;
      for (const button of [byId(`prev-${kind}`), byId(`next-${kind}`)]) if (button.disabled !== none) button.disabled = none;
    }
  }

  const share = (every) => (every === 1 ? "all" : `one in ${every}`);

  let before = null;
  function tick(clock) {
    if (live) grow(clock);
    if (state.playing) {
      const passed = before === null ? 0 : Math.min(250, clock - before);
      before = clock;
      if (state.following) chase(passed);
      else playOn(passed);
    }
    if (state.dirty || state.grown) {
      const { dirty } = state;
      state.dirty = state.grown = false;
      render(clock, dirty);
      if (view.exports.onFrame()) pause();
    }
    requestAnimationFrame(tick);
  }

  function playOn(passed) {
    state.t = Math.min(model.end, state.t + (passed / 1000) * state.speed * perUnit);
    state.dirty = true;
    if (state.t < model.end) return;
    if (live && !live.isOver()) follow();
    else pause();
  }

  // -- a run that goes on ---------------------------------------------------------------------------------------------

  function grow(clock) {
    const end = model.end;
    if (!live.take(clock, READ_MS)) return;
    if (marks.learnTypes()) {
      view.panel.filterTypes(look, changed);
      view.panel.legend();
    }
    scaleAgain();
    byId("follow").disabled = live.isOver();
    if (state.goal !== null) state.t = Math.min(state.goal, model.end);
    if (state.following && end === 1) state.t = model.end; // what was there before this page is not played
    state.grown = true;
    state.dirty = state.dirty || state.t >= end;
  }

  // The shown time runs after the last event, the faster the further behind it is. So it moves evenly, although events
  // come in batches, and is about two batches late. As long as there are lines to catch up with, it is at the last one.
  function chase(passed) {
    const behind = model.end - state.t;
    if (behind === 0) {
      if (live.isOver()) pause();
      return;
    }
    const share = 1 - Math.exp(-passed / Math.max(300, 2 * live.rhythm.gap));
    const step = Math.max(behind * share, (state.span * passed) / 5000); // so that it gets there
    state.t = live.isBehind() ? model.end : Math.min(model.end, state.t + step);
    state.dirty = true;
  }

  function follow() {
    if (!live || live.isOver()) return;
    state.goal = null;
    state.t = model.end;
    play();
    state.following = true;
    byId("follow").setAttribute("aria-pressed", "true");
    forget();
    scaleAgain();
    live.turn();
  }

  // -- moving in time -------------------------------------------------------------------------------------------------

  function seek(t, { link = true } = {}) {
    if (state.following) pause();
    state.goal = live && t > model.end ? t : null; // of a run that goes on, it may come
    state.t = Math.max(0, Math.min(model.end, Math.round(t)));
    state.dirty = true;
    if (link && !state.playing) rememberSoon();
  }

  function play() {
    if (state.playing) return;
    if (state.t >= model.end && (!live || live.isOver())) state.t = 0;
    state.playing = true;
    before = null;
    byId("play").textContent = "Pause";
    byId("play").setAttribute("aria-pressed", "true");
  }

  function pause() {
    if (!state.playing) return;
    state.playing = state.following = false;
    state.t = Math.round(state.t);
    state.dirty = true;
    byId("follow").setAttribute("aria-pressed", "false");
    if (live) live.turn();
    byId("play").textContent = "Play";
    byId("play").setAttribute("aria-pressed", "false");
    if (view.exports.isRecording()) view.exports.stop();
    remember();
  }

  // The next moment of a kind after now, or the one before.
  function step(kind, direction) {
    pause();
    const times = model.moments[kind];
    const t = Math.round(state.t);
    const place = direction > 0 ? lastUpTo(times, t) + 1 : lastUpTo(times, t - 1);
    if (place >= 0 && place < times.length) {
      seek(times[place]);
      if (kind === "fault" || kind === "violation") {
        const mark = model.marks.find((one) => one[2] === kind && one[0] === times[place] && one[1] >= 0);
        if (mark) select(mark[1]);
      }
    } else {
      byId("said").textContent = `no ${kind} ${direction > 0 ? "after" : "before"} this moment`;
    }
  }

  function select(node) {
    look.selected = node !== null && node >= 0 && node < model.nodes ? node : null;
    byId("node").value = look.selected === null ? "" : String(look.selected);
    state.dirty = true;
    if (!state.playing) rememberSoon();
  }

  // -- the link to a moment -------------------------------------------------------------------------------------------

  const hash = () => `#t=${Math.round(state.goal ?? state.t)}${look.selected === null ? "" : `&node=${look.selected}`}`;
  let remembering = null;
  function remember() {
    clearTimeout(remembering);
    remembering = null;
    byId("link").setAttribute("href", hash());
    if (location.hash !== hash()) history.replaceState(null, "", hash());
  }

  // The address of a run that is followed names no moment.
  function forget() {
    clearTimeout(remembering);
    remembering = null;
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  }

  // While someone drags, not at every pixel: browsers allow only so many changes of the address.
  function rememberSoon() {
    if (remembering === null) remembering = setTimeout(remember, 200);
  }

  function goToHash() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (/^\d{1,16}$/.test(wanted.get(name) ?? "") ? Number(wanted.get(name)) : null);
    if (wanted.has("node")) select(number("node"));
    if (number("t") === null) return false;
    pause();
    seek(number("t"), { link: false });
    return true;
  }

  // -- controls -------------------------------------------------------------------------------------------------------

  function changeSpeed(by) {
    const place = LADDER.indexOf(state.speed) + by;
    const select = byId("speed");
    if (place >= 0 && place < LADDER.length && [...select.options].some((one) => one.value === String(LADDER[place]))) {
      state.speed = chosen.speed = LADDER[place];
      select.value = String(state.speed);
    }
  }

  const KEYS = {
    " ": () => (state.playing ? pause() : play()),
    ".": () => step("event", 1), ",": () => step("event", -1),
    e: () => step("entry", 1), E: () => step("entry", -1),
    f: () => step("fault", 1), F: () => step("fault", -1),
    v: () => step("violation", 1), V: () => step("violation", -1),
    ArrowRight: () => seek(state.t + state.span / 10), ArrowLeft: () => seek(state.t - state.span / 10),
    Home: () => seek(0), End: () => (live && !live.isOver() ? follow() : seek(model.end)),
    "+": () => changeSpeed(1), "-": () => changeSpeed(-1),
    n: () => select(look.selected === null ? 0 : (look.selected + 1) % model.nodes),
    p: () => select(look.selected === null ? model.nodes - 1 : (look.selected + model.nodes - 1) % model.nodes),
    l: () => follow(),
    z: () => zoom(1.5), Z: () => zoom(1 / 1.5),
    Escape: () => select(null),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
    const target = event.target;
    if (/^(SELECT|TEXTAREA)$/.test(target.tagName) || (target.tagName === "INPUT" && target.type !== "checkbox")) return;
    if (event.key === " " && /^(BUTTON|INPUT|A)$/.test(target.tagName)) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  byId("play").addEventListener("click", () => (state.playing ? pause() : play()));
  byId("follow").addEventListener("click", () => (state.following ? pause() : follow()));
  for (const kind of KINDS) {
    for (const [prefix, direction] of [["prev", -1], ["next", 1]]) {
      const button = byId(`${prefix}-${kind}`);
      button.setAttribute("aria-label", `${direction > 0 ? "next" : "previous"} ${kind}`);
      button.addEventListener("click", () => step(kind, direction));
    }
  }
  byId("scrub").addEventListener("input", (event) => {
    pause();
    seek((Number(event.target.value) / SCRUB_STEPS) * model.end);
  });
  byId("time").addEventListener("change", (event) => {
    const t = model.ticks(event.target.value);
    event.target.setAttribute("aria-invalid", String(t === null));
    if (t !== null) {
      pause();
      seek(t);
    }
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    restyle();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  function restyle() {
    marks.readTheme();
    view.panel.legend();
    state.dirty = true;
  }

  // Enlarges the map around a point; by keys, around the selected node or the middle.
  function zoom(by, at = look.selected === null ? null : state.places[look.selected]) {
    const { factor, x, y } = look.zoom;
    const [cx, cy] = [mapCanvas.clientWidth / 2, mapCanvas.clientHeight / 2];
    const point = at || { x: cx, y: cy };
    const next = Math.max(1, Math.min(50, factor * by));
    const keep = (place, middle, moved) => place - middle - (place - middle - moved) * (next / factor);
    look.zoom = next === 1 ? { factor: 1, x: 0, y: 0 } : { factor: next, x: keep(point.x, cx, x), y: keep(point.y, cy, y) };
    state.dirty = true;
  }
  mapCanvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, { x: event.offsetX, y: event.offsetY });
  }, { passive: false });

  // A click selects; a drag moves an enlarged map.
  let grabbed = null;
  mapCanvas.addEventListener("pointerdown", (event) => {
    grabbed = { x: event.offsetX, y: event.offsetY, zoom: look.zoom, moved: false };
    mapCanvas.setPointerCapture(event.pointerId);
  });
  mapCanvas.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const [dx, dy] = [event.offsetX - grabbed.x, event.offsetY - grabbed.y];
    if (Math.hypot(dx, dy) > 4) grabbed.moved = true;
    if (!grabbed.moved || look.zoom.factor === 1) return;
    look.zoom = { ...grabbed.zoom, x: grabbed.zoom.x + dx, y: grabbed.zoom.y + dy };
    state.dirty = true;
  });
  mapCanvas.addEventListener("pointerup", (event) => {
    if (grabbed && !grabbed.moved) select(view.map.nodeAt(state.places, event.offsetX, event.offsetY));
    grabbed = null;
  });
  mapCanvas.addEventListener("pointercancel", () => { grabbed = null; });

  let dragging = false;
  const pick = (event) => view.spacetime.pick(diagram.clientWidth, diagram.clientHeight, state.from, state.span, look, event.offsetX, event.offsetY);
  diagram.addEventListener("pointerdown", (event) => {
    const { t, node, inLabels } = pick(event);
    if (inLabels) {
      if (node !== null) select(node);
      return;
    }
    pause();
    dragging = true;
    state.dragFrom = { x: event.offsetX, t };
    diagram.setPointerCapture(event.pointerId);
    if (node !== null && event.shiftKey) select(node);
    seek(t);
  });
  // The stretch moves with the time, so a drag goes by its distance and not by what is under the pointer.
  diagram.addEventListener("pointermove", (event) => {
    if (!dragging) return;
    const { x, t } = state.dragFrom;
    seek(t + ((event.offsetX - x) / diagram.clientWidth) * state.span);
  });
  diagram.addEventListener("pointerup", () => { dragging = false; });
  diagram.addEventListener("pointercancel", () => { dragging = false; });

  new ResizeObserver(() => { state.dirty = true; }).observe(mapCanvas);
  new ResizeObserver(() => { state.dirty = true; }).observe(diagram);
  window.addEventListener("hashchange", goToHash);

  // -- begin ----------------------------------------------------------------------------------------------------------

  const changed = () => { state.dirty = true; };
  const setSpeed = (value) => { state.speed = chosen.speed = value; };
  const setSpan = (value) => {
    chosen.span = value;
    state.span = value * perUnit;
    state.dirty = true;
  };
  scale();
  byId("speed").addEventListener("change", (event) => setSpeed(Number(event.target.value)));
  byId("span").addEventListener("change", (event) => setSpan(Number(event.target.value)));
  const chooser = byId("node");
  for (const text of ["", ...Array.from({ length: model.nodes }, (_, i) => String(i))]) {
    const option = document.createElement("option");
    option.value = text;
    option.textContent = text || "none";
    chooser.append(option);
  }
  chooser.addEventListener("change", () => select(chooser.value === "" ? null : Number(chooser.value)));
  view.panel.about();
  view.panel.verdicts();
  view.panel.notes();
  view.panel.filters(look, changed);
  view.panel.legend();
  view.exports.connect();
  Object.assign(view, { seek, play, pause, step, select, follow, timing, look, setSpeed, setSpan, time: () => state.t,
    isPlaying: () => state.playing, isFollowing: () => state.following });
  if (!goToHash()) {
    seek(model.run.at ?? 0, { link: false });
    follow();
  }
  if (!state.following) remember();
  requestAnimationFrame(tick);
})();
