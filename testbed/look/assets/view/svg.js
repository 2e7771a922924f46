// The part of a canvas's 2D context that the drawings use, as SVG: so that one drawing serves screen, PNG, WebM and SVG.
(() => {
  "use strict";
  const view = window.testbedView;
  const escaped = (text) =>
    String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
  const n = (value) => String(Math.round(value * 100) / 100);

  class SvgContext {
    constructor(width, height) {
      Object.assign(this, { width, height, parts: [], path: "", dash: [], saved: [], groups: 0, clips: 0 });
      Object.assign(this, {
        fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif",
        textAlign: "left", textBaseline: "alphabetic", lineJoin: "miter", lineCap: "butt",
      });
    }

    save() {
      const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, groups } = this;
      this.saved.push({ fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, groups });
    }

    restore() {
      const before = this.saved.pop();
      while (this.groups > before.groups) {
        this.parts.push("</g>");
        this.groups--;
      }
      Object.assign(this, before);
    }

    translate(x, y) {
      this.parts.push(`<g transform="translate(${n(x)} ${n(y)})">`);
      this.groups++;
    }

    clip() {
      const id = `clip${++this.clips}`;
      this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
      this.groups++;
    }

    beginPath() { this.path = ""; }
    closePath() { this.path += "Z"; }
    moveTo(x, y) { this.path += `M${n(x)} ${n(y)}`; }
    lineTo(x, y) { this.path += `L${n(x)} ${n(y)}`; }
    rect(x, y, w, h) { this.path += `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}Z`; }

    // Whole circles only: no drawing has another arc.
    arc(x, y, r) {
      this.path += `M${n(x + r)} ${n(y)}A${n(r)} ${n(r)} 0 1 1 ${n(x - r)} ${n(y)}A${n(r)} ${n(r)} 0 1 1 ${n(x + r)} ${n(y)}Z`;
    }

    setLineDash(dash) { this.dash = dash; }
    alpha() { return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : ""; }

    fill() {
      if (this.path) this.parts.push(`<path d="${this.path}" fill="${escaped(this.fillStyle)}"${this.alpha()}/>`);
    }

    stroke() {
      if (!this.path) return;
      const dash = this.dash.length ? ` stroke-dasharray="${this.dash.map(n).join(" ")}"` : "";
      const look = `fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${n(this.lineWidth)}"`;
      this.parts.push(`<path d="${this.path}" ${look}${dash}${this.alpha()}/>`);
    }

    fillRect(x, y, w, h) {
      const path = this.path;
      this.path = "";
      this.rect(x, y, w, h);
      this.fill();
      this.path = path;
    }

    fillText(text, x, y) {
      const [, bold, size, family] = /^(bold )?([\d.]+)px (.*)$/.exec(this.font);
      const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
      const base = { middle: "central", top: "hanging", bottom: "auto", alphabetic: "auto" }[this.textBaseline];
      this.parts.push(
        `<text x="${n(x)}" y="${n(y)}" font-family="${escaped(family)}" font-size="${size}"` +
        `${bold ? ' font-weight="bold"' : ""} text-anchor="${anchor}" dominant-baseline="${base}"` +
        ` fill="${escaped(this.fillStyle)}"${this.alpha()}>${escaped(text)}</text>`,
      );
    }

    toString() {
      const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
      return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.parts.join("\n")}</svg>\n`;
    }
  }

  view.SvgContext = SvgContext;
})();
