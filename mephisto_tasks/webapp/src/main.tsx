import "modern-normalize/modern-normalize.css";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/blocks.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Guard } from "./screens/Guard";
import { Session } from "./session/session";
import type { Socket } from "./wire/connection";
import { readCrowd } from "./wire/crowd";
import { createHttp } from "./wire/http";

/** The folder that this page came from; the router serves everything beside it. */
const here = new URL("./", window.location.href);

function openSocket(): Socket {
  const url = new URL(here);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(url);
}

const session = new Session({
  http: createHttp(here.toString()),
  crowd: readCrowd,
  openSocket,
  goTo: (address) => window.location.assign(address),
  study: new URLSearchParams(window.location.search).get("study"),
  reads: navigator.languages,
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Guard>
        <App session={session} />
      </Guard>
    </StrictMode>,
  );
  session.start();
}
