import "modern-normalize/modern-normalize.css";
import "../ui/tokens.css";
import "../ui/base.css";
import "../ui/blocks.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { NewStudy } from "./NewStudy";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <NewStudy />
    </StrictMode>,
  );
}
