/** The cheapest MCP server on stdio: `server-stdio.ts [tools] [group]`. */
import { Answers } from './answers.ts'
import { Lines } from './lines.ts'

const answers = new Answers(Number(process.argv[2] ?? 3), process.argv[3] ?? '')
let pending = ''

const lines = new Lines(line => {
  const answer = answers.answer(line)
  if (answer !== undefined) pending += `${answer}\n`
})

process.stdin.on('data', (chunk: Buffer) => {
  lines.push(chunk)
  if (pending === '') return
  process.stdout.write(pending, 'latin1')
  pending = ''
})
process.stdin.on('end', () => process.exit())
process.stdout.on('error', () => process.exit())
