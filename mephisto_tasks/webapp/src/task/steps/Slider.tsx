import { type CSSProperties, type KeyboardEvent, type PointerEvent, useRef } from "react";
import { onEnter } from "./keys";
import { fineStep, keyTarget, middle, positionWords, type RatedProps, snap } from "./rating";
import { useStep } from "./StepShell";
import styles from "./Rate.module.css";

/** Half the width of the thumb in CSS pixels: its middle never comes nearer to an end of the track. */
const THUMB_RADIUS = 14;
/** A finger that has moved so far sideways means to drag. */
const DRAG_PX = 6;
/** A finger that has moved so far up or down means to scroll, also where its browser is too busy to say so. */
const SCROLL_PX = 16;

/** A line that begins at the right: its keys lead the other way. */
const TURNED: Readonly<Record<string, string>> = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };

/**
 * A line from one label to the other.
 *
 * The browser's own range input serves keyboard and screen reader. The pointer is ours, because the browser's input
 * answers to a finger that only scrolls past, and not to a click where its hidden thumb already stands.
 */
export function Slider({ scale, value, labelledBy, describedBy, invalid, onChange }: RatedProps & { invalid: boolean }) {
  const { pending, send } = useStep();
  const input = useRef<HTMLInputElement>(null);
  const drag = useRef<{ startX: number; startY: number; moving: boolean } | null>(null);

  const put = (next: number) => {
    if (!pending) {
      onChange(snap(scale, next));
    }
  };
  const putAt = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const fromLeft = (event.clientX - box.left - THUMB_RADIUS) / Math.max(1, box.width - 2 * THUMB_RADIUS);
    const share = rightToLeft() ? 1 - fromLeft : fromLeft;
    put(scale.minimum + share * (scale.maximum - scale.minimum));
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) {
      return;
    }
    const touch = event.pointerType === "touch";
    drag.current = { startX: event.clientX, startY: event.clientY, moving: !touch };
    if (!touch) {
      // Else the browser begins to select text, and takes the focus away again.
      event.preventDefault();
      event.currentTarget.setPointerCapture(event.pointerId);
      input.current?.focus({ preventScroll: true });
      putAt(event);
    }
  };
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const now = drag.current;
    if (now === null) {
      return;
    }
    if (scrolls(event, now)) {
      drag.current = null;
      return;
    }
    if (!now.moving && Math.abs(event.clientX - now.startX) >= DRAG_PX) {
      now.moving = true;
      event.currentTarget.setPointerCapture(event.pointerId);
    }
    if (now.moving) {
      putAt(event);
    }
  };
  const onPointerUp = (event: PointerEvent<HTMLDivElement>) => {
    if (drag.current !== null && !scrolls(event, drag.current)) {
      putAt(event);
      input.current?.focus({ preventScroll: true });
    }
    drag.current = null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = keyTarget(scale, value, rightToLeft() ? (TURNED[event.key] ?? event.key) : event.key);
    onEnter(event, send);
    if (target !== null && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      put(target);
    }
  };
  return (
    <div
      className={styles.slider}
      data-testid={`track-${scale.scale_id}`}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      // The finger went on to scroll the page: nothing was meant by it.
      onPointerCancel={() => (drag.current = null)}
    >
      <span className={styles.track} />
      {value !== null && <span className={styles.thumb} style={{ "--share": (value - scale.minimum) / (scale.maximum - scale.minimum) } as CSSProperties} />}
      <input
        ref={input}
        type="range"
        min={scale.minimum}
        max={scale.maximum}
        step={fineStep(scale)}
        value={value ?? middle(scale)}
        data-untouched={value === null ? "" : undefined}
        aria-labelledby={labelledBy}
        aria-describedby={describedBy}
        aria-valuetext={positionWords(scale, value)}
        aria-invalid={invalid}
        aria-disabled={pending}
        onChange={(event) => put(event.target.valueAsNumber)}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

function scrolls(event: PointerEvent, { startY, moving }: { startY: number; moving: boolean }): boolean {
  return !moving && Math.abs(event.clientY - startY) >= SCROLL_PX;
}

function rightToLeft(): boolean {
  return document.documentElement.dir === "rtl";
}
