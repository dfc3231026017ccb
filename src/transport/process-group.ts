import type { ChildProcess } from 'node:child_process'

/** Signals a process and all that share its group. On Windows, where groups do not exist, the process alone. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  if (process.platform === 'win32') {
    child.kill(signal)
    return
  }
  send(child.pid, signal)
}

/** Whether anything of the group still runs. */
export function isGroupAlive(child: ChildProcess): boolean {
  if (child.pid === undefined || process.platform === 'win32') return false
  return send(child.pid, 0)
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch (error) {
    // EPERM: something is there, and is not ours to signal.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
