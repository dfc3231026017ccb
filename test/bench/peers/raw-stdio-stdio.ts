/** Yardstick: a process between two pipes. `raw-stdio-stdio.ts <file> [args…]`. */
import { spawn } from 'node:child_process'

const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.pipe(child.stdin)
child.stdout.pipe(process.stdout)
child.on('exit', () => process.exit())
