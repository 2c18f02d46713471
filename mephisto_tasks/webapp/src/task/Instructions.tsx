import { Dialog, DialogDismiss, DialogHeading } from "@ariakit/react/dialog";
import { useRef } from "react";
import type { TaskConfig } from "../wire/config";
import { Terms } from "../screens/Preview";
import { Button } from "../ui/Button";
import { Sections } from "../ui/Sections";
import styles from "./Instructions.module.css";

export interface InstructionsProps {
  config: TaskConfig;
  open: boolean;
  onClose: () => void;
}

/** The instructions; open by themselves at a rater's first arrival, later by the header's button. */
export function Instructions({ config, open, onClose }: InstructionsProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Dialog
      open={open}
      onClose={onClose}
      unmountOnHide
      backdrop={<div className={styles.backdrop} />}
      className={styles.dialog}
      initialFocus={heading}
    >
      <div className={styles.top}>
        <DialogHeading ref={heading} tabIndex={-1} className={styles.heading}>Instructions</DialogHeading>
        <DialogDismiss className={styles.cross} aria-label="Close the instructions" />
      </div>
      {/* A scrolling region must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={styles.body} tabIndex={0} role="region" aria-label="Text of the instructions">
        <Sections sections={config.instructions.sections} />
        <Terms config={config} />
      </div>
      <div className={styles.foot}>
        <Button onClick={onClose}>Got it</Button>
      </div>
    </Dialog>
  );
}
