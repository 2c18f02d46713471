/**
 * Takes the data that the viewer's scripts hand over: the index first, then texts part by part. Under `file://` a browser
 * fetches nothing, but it runs scripts, and each calls `humanevalViewer(name, content)`.
 */
import type { Details, Index } from "./entry";
import { searchable } from "./search";

declare global {
  interface Window {
    humanevalViewer?: (name: string | number, json: string) => void;
  }
}

/** Puts a script into the page; a promise of whether it ran. */
export type LoadScript = (source: string) => Promise<boolean>;

export function loadScript(source: string): Promise<boolean> {
  return new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = source;
    const end = (ran: boolean) => {
      script.remove();
      resolve(ran);
    };
    script.onload = () => end(true);
    script.onerror = () => end(false);
    document.head.append(script);
  });
}

export interface Snapshot {
  index: Index | null;
  /** Parts that are read, of how many; it changes with each. */
  read: number;
  parts: number;
  failed: number;
}

export class Store {
  private snapshot: Snapshot = { index: null, read: 0, parts: 0, failed: 0 };
  private readonly listeners = new Set<() => void>();
  private readonly details = new Map<string, Details>();
  /** In the order of entries; undefined: not read yet. */
  readonly texts: (string | undefined)[] = [];
  private readonly done = new Set<number>();
  private readonly asked = new Map<number, Promise<void>>();

  constructor(private readonly load: LoadScript = loadScript) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): Snapshot => this.snapshot;

  readonly receive = (name: string | number, json: string): void => {
    if (name === "index") {
      const index = JSON.parse(json) as Index;
      this.change({ index, parts: Math.ceil(index.ids.length / index.part) });
      return;
    }
    const { index } = this.snapshot;
    const part = JSON.parse(json) as Record<string, Details>;
    for (const [id, details] of Object.entries(part)) {
      this.details.set(id, details);
    }
    for (let at = Number(name) * (index?.part ?? 0); index && at < (Number(name) + 1) * index.part; at++) {
      const id = index.ids[at];
      const details = id === undefined ? undefined : this.details.get(id);
      if (id !== undefined && details !== undefined) {
        this.texts[at] = searchable(id, details);
      }
    }
  };

  detailsOf(id: string): Details | undefined {
    return this.details.get(id);
  }

  isRead(part: number): boolean {
    return this.done.has(part);
  }

  /** Reads a part, once. */
  readonly read = (part: number): Promise<void> => {
    const asked = this.asked.get(part);
    if (asked) {
      return asked;
    }
    const reading = this.load(`data/texts-${part}.js`).then((ran) => {
      this.done.add(part);
      this.change({ read: this.snapshot.read + 1, failed: this.snapshot.failed + Number(!ran) });
    });
    this.asked.set(part, reading);
    return reading;
  };

  /** Reads all parts, one after the other, so that the page answers meanwhile. */
  async readAll(): Promise<void> {
    for (let part = 0; part < this.snapshot.parts; part++) {
      await this.read(part);
    }
  }

  private change(some: Partial<Snapshot>): void {
    this.snapshot = { ...this.snapshot, ...some };
    this.listeners.forEach((listener) => listener());
  }
}
