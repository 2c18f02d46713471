import { Component, type ReactNode } from "react";
import { t } from "../language";
import { Problem } from "./Problem";

/** A fault of the page itself shows words and a way on, never a blank page. */
export class Guard extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? (
      <Problem text={t("This page has stopped because of an error. Your work so far is saved. Reload the page to continue.")} />
    ) : (
      this.props.children
    );
  }
}
