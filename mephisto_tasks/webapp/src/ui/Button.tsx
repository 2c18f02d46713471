import { Button as AriakitButton } from "@ariakit/react/button";
import { type ReactNode, type Ref, useId } from "react";
import styles from "./Button.module.css";

export interface ButtonProps {
  children: ReactNode;
  buttonRef?: Ref<HTMLButtonElement>;
  onClick?: () => void;
  type?: "button" | "submit";
  look?: "main" | "quiet";
  disabled?: boolean;
  /** Looks disabled, yet can be pressed: pressing says what is missing. */
  unready?: boolean;
  /** Looks disabled and is announced so, yet can be pressed: pressing says why. */
  unavailable?: boolean;
  /** Read after the button's name. */
  description?: string | null;
}

export function Button(props: ButtonProps) {
  const { children, onClick, type = "button", look = "main", disabled = false, unready = false, unavailable = false } = props;
  const description = props.description ?? null;
  const id = useId();
  const common = {
    ref: props.buttonRef,
    type,
    className: `${styles.button} ${look === "main" ? styles.main : styles.quiet}`,
    "data-unready": unready ? "" : undefined,
    "aria-describedby": description === null ? undefined : id,
    ...(onClick ? { onClick } : {}),
  };
  return (
    <>
      {unavailable && !disabled ? (
        // Ariakit's lets no press through that is announced as disabled.
        <button {...common} aria-disabled>
          {children}
        </button>
      ) : (
        <AriakitButton {...common} disabled={disabled} accessibleWhenDisabled>
          {children}
        </AriakitButton>
      )}
      {description !== null && (
        <span id={id} hidden>
          {description}
        </span>
      )}
    </>
  );
}
