// Who a partner is: a name made up for this tab, so that a reload is the same partner and another tab is another one.
// Defines the four functions that every provider's wrap_crowd_source.js defines.
"use strict";

const partnerName = (() => {
  const key = "humaneval:partner-name";
  const made = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    const known = window.sessionStorage.getItem(key) ?? made();
    window.sessionStorage.setItem(key, known);
    return known;
  } catch {
    return made(); // storage is forbidden: a reload is somebody new
  }
})();

function getWorkerName() {
  return partnerName;
}

function getAssignmentId() {
  return "partner";
}

function getAgentRegistration() {
  return {
    worker_name: partnerName,
    agent_registration_id: `partner-${partnerName}`,
    assignment_id: "partner",
  };
}

// A partner hands no task in.
function handleSubmitToProvider() {
  return true;
}
