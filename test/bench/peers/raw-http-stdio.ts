/** Yardstick: POST in, a line to a process; its line by id, the reply out. `raw-http-stdio.ts <file> [args…]`. */
import { spawn } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Lines } from './lines.ts'

const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
// Ids are numbers that follow each other: a slot for each. A Map would keep old responses alive.
const SLOTS = 1024
const waiting: (ServerResponse | undefined)[] = new Array<undefined>(SLOTS).fill(undefined)
const ID = /"id":(\d+)/

const replies = new Lines(line => {
  const slot = Number(ID.exec(line.toString('latin1', 0, 100))?.[1]) % SLOTS
  const response = waiting[slot]
  waiting[slot] = undefined
  response?.writeHead(200, {
    'content-type': 'application/json',
    'content-length': line.length,
    'mcp-session-id': 'bench',
  })
  response?.end(line)
})
child.stdout.on('data', (chunk: Buffer) => replies.push(chunk))

const server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
  let body = ''
  request.setEncoding('latin1')
  request.on('data', (text: string) => (body += text))
  request.on('end', () => {
    child.stdin.write(`${body}\n`, 'latin1')
    const id = ID.exec(body)?.[1]
    if (id === undefined) response.writeHead(202, { 'content-length': 0 }).end()
    else waiting[Number(id) % SLOTS] = response
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
})
process.on('disconnect', () => {
  child.kill()
  process.exit()
})
