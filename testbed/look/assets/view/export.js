// A frame as SVG or PNG, a stretch as WebM. Files leave the page as downloads of blobs; nothing is sent anywhere.
(() => {
  "use strict";
  const view = window.testbedView;
  const { model, marks } = view;
  const HEAD = 30;

  function save(blob, suffix) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    const name = `${model.run.name}-t${view.panel.brief(view.time())}`.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 100);
    link.download = `${name}.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  // Title, map and diagram below each other, as on the page.
  function compose(ctx, width, mapHeight, diagramHeight) {
    ctx.fillStyle = marks.theme.back;
    ctx.fillRect(0, 0, width, HEAD + mapHeight + diagramHeight);
    const { run } = model;
    const title = `${run.name}: ${run.algorithm}, ${run.nodes} nodes, t = ${view.panel.brief(view.time())}`;
    marks.label(ctx, title, 14, HEAD / 2 + 2, 15, marks.theme.front, { bold: true, align: "left" });
    ctx.save();
    ctx.translate(0, HEAD);
    view.drawMap(ctx, width, mapHeight);
    ctx.restore();
    ctx.save();
    ctx.translate(0, HEAD + mapHeight);
    view.drawDiagram(ctx, width, diagramHeight);
    ctx.restore();
  }

  function sizes() {
    const { width, mapHeight, diagramHeight } = view.sizes();
    return { width, mapHeight, diagramHeight, height: HEAD + mapHeight + diagramHeight };
  }

  function svg() {
    const { width, mapHeight, diagramHeight, height } = sizes();
    const ctx = new view.SvgContext(width, height);
    compose(ctx, width, mapHeight, diagramHeight);
    return ctx.toString();
  }

  function frameOn(canvas, scale) {
    const { width, mapHeight, diagramHeight, height } = sizes();
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    const ctx = canvas.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    compose(ctx, width, mapHeight, diagramHeight);
  }

  function png() {
    const canvas = document.createElement("canvas");
    frameOn(canvas, 2);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // -- WebM -----------------------------------------------------------------------------------------------------------

  const canRecord = typeof HTMLCanvasElement.prototype.captureStream === "function" &&
    typeof MediaRecorder === "function" && MediaRecorder.isTypeSupported("video/webm");
  let recording = null;

  // Records what is played from now on. The promise is kept with the file when `stop` is called.
  function record(until) {
    const canvas = document.createElement("canvas");
    frameOn(canvas, 1);
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: "video/webm", videoBitsPerSecond: 6e6 });
    const pieces = [];
    recorder.addEventListener("dataavailable", (event) => pieces.push(event.data));
    const file = new Promise((done) => {
      recorder.addEventListener("stop", () => done(new Blob(pieces, { type: "video/webm" })));
    });
    recorder.start(250);
    recording = { canvas, recorder, until };
    return file;
  }

  function stop() {
    if (recording) recording.recorder.stop();
    recording = null;
  }

  // Called after every frame that is drawn on the page.
  function onFrame() {
    if (recording) frameOn(recording.canvas, 1);
    return recording !== null && view.time() >= recording.until;
  }

  function connect() {
    document.getElementById("save-svg").addEventListener("click", () => save(new Blob([svg()], { type: "image/svg+xml" }), "svg"));
    document.getElementById("save-png").addEventListener("click", async () => save(await png(), "png"));
    const button = document.getElementById("record");
    if (!canRecord) {
      button.disabled = true;
      button.textContent = "no WebM in this browser";
      button.title = "this browser cannot record a canvas as WebM; Chromium and Firefox can";
      return;
    }
    button.addEventListener("click", async () => {
      if (recording) {
        if (!view.isFollowing()) view.pause();
        stop();
        return;
      }
      const file = record(view.stretchEnd());
      button.textContent = "Stop recording";
      button.setAttribute("aria-pressed", "true");
      view.play();
      const blob = await file;
      button.textContent = "Record WebM";
      button.setAttribute("aria-pressed", "false");
      save(blob, "webm");
    });
  }

  view.exports = { svg, png, canRecord, onFrame, stop, connect, isRecording: () => recording !== null };
})();
