/** Yardstick: a process between two pipes, line by line: each is found, and written by itself. `raw-lines.ts <file> [args…]`. */
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

const NEWLINE = 0x0a
const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.on('data', byLine(child.stdin))
child.stdout.on('data', byLine(process.stdout))
process.stdin.on('end', () => child.stdin.end())
child.on('exit', () => process.exit())

function byLine(to: Writable): (chunk: Buffer) => void {
  return chunk => {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      to.write(chunk.subarray(from, at + 1))
      from = at + 1
    }
    if (from < chunk.length) to.write(chunk.subarray(from))
  }
}
