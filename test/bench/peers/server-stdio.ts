/** The cheapest MCP server on stdio: `server-stdio.ts [tools] [group]`. Each message is a write of its own, as servers do it. */
import { Answers } from './answers.ts'
import { Lines } from './lines.ts'

const answers = new Answers(Number(process.argv[2] ?? 4), process.argv[3] ?? '')
const lines = new Lines(line => {
  for (const answer of answers.answers(line)) process.stdout.write(`${answer}\n`, 'latin1')
})

process.stdin.on('data', (chunk: Buffer) => lines.push(chunk))
process.stdin.on('end', () => process.exit())
process.stdout.on('error', () => process.exit())
