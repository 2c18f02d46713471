import { Dialog, DialogDismiss, DialogHeading } from "@ariakit/react/dialog";
import { type ReactNode, type RefObject, useRef } from "react";
import styles from "./Modal.module.css";

export interface ModalProps {
  title: string;
  open: boolean;
  onClose: () => void;
  /** What the cross says: “Close the instructions”. */
  closeLabel: string;
  /** What has the focus first; else the heading. */
  initialFocus?: RefObject<HTMLElement | null>;
  /** What gets the focus when it closes; else what had it before. */
  finalFocus?: RefObject<HTMLElement | null>;
  /** The scrolling content, and the buttons below it. */
  children: ReactNode;
  foot: ReactNode;
}

/** A dialog over the page: a title with a cross, content that scrolls when it must, buttons at its foot. */
export function Modal({ title, open, onClose, closeLabel, initialFocus, finalFocus, children, foot }: ModalProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  return (
    <Dialog
      open={open}
      onClose={onClose}
      unmountOnHide
      backdrop={<div className={styles.backdrop} />}
      className={`card ${styles.dialog}`}
      initialFocus={initialFocus ?? heading}
      {...(finalFocus ? { finalFocus } : {})}
    >
      <div className={styles.top}>
        <DialogHeading ref={heading} tabIndex={-1} className={styles.heading}>
          {title}
        </DialogHeading>
        <DialogDismiss className="soft sign" aria-label={closeLabel} />
      </div>
      {children}
      <div className={styles.foot}>{foot}</div>
    </Dialog>
  );
}
