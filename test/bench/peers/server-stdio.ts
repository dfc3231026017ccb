/**
 * The cheapest MCP server on stdio: `server-stdio.ts [tools] [group] [burst]`. Each message is a write of its own, as
 * servers do it; with `burst` the answers to one chunk of requests go out together.
 */
import { Answers } from './answers.ts'
import { Lines } from './lines.ts'

const answers = new Answers(Number(process.argv[2] ?? 4), process.argv[3] ?? '')
const isBurst = process.argv[4] === 'burst'
let pending = ''

const lines = new Lines(line => {
  for (const answer of answers.answers(line))
    if (isBurst) pending += `${answer}\n`
    else process.stdout.write(`${answer}\n`, 'latin1')
})

process.stdin.on('data', (chunk: Buffer) => {
  lines.push(chunk)
  if (pending === '') return
  process.stdout.write(pending, 'latin1')
  pending = ''
})
process.stdin.on('end', () => process.exit())
process.stdout.on('error', () => process.exit())
