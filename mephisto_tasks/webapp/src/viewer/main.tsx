import "modern-normalize/modern-normalize.css";
import "../ui/tokens.css";
import "../ui/base.css";
import "../ui/blocks.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Store } from "./store";
import { Viewer } from "./Viewer";

const store = new Store();
window.humanevalViewer = store.receive;

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Viewer store={store} />
    </StrictMode>,
  );
}
