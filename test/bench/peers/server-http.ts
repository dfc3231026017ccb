/** The cheapest MCP server over HTTP. The path says what it lists: `/mcp/<tools>/<group>`. Prints its URL. */
import { createServer, type AddressInfo } from 'node:net'
import { Answers } from './answers.ts'
import { HttpMessages } from './http-messages.ts'

const NOTHING = 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'
const EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'
const NOT_ALLOWED = 'HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n'

const offers = new Map<string, Answers>()

function offerOf(path: string): Answers {
  let offer = offers.get(path)
  if (offer === undefined) {
    const [, , tools = '4', group = ''] = path.split('/')
    offer = new Answers(Number(tools), group)
    offers.set(path, offer)
  }
  return offer
}

function respond(head: string, body: Buffer): string {
  const [method, path = ''] = head.slice(0, head.indexOf(' HTTP/')).split(' ')
  if (method !== 'POST') return NOT_ALLOWED
  const answers = offerOf(path).answers(body)
  const [answer] = answers
  if (answer === undefined) return NOTHING
  if (answers.length > 1) return EVENTS + answers.map(eventChunk).join('') + LAST_CHUNK
  const isHello = body.length < 2000 && body.includes('"initialize"')
  const session = isHello ? 'mcp-session-id: bench\r\n' : ''
  // Everything in the answers is ASCII.
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${session}content-length: ${answer.length}\r\n\r\n${answer}`
}

function eventChunk(message: string): string {
  const event = `event: message\ndata: ${message}\n\n`
  return `${event.length.toString(16)}\r\n${event}\r\n`
}

const server = createServer({ noDelay: true }, socket => {
  const messages = new HttpMessages((head, body) => socket.write(respond(head, body), 'latin1'))
  socket.on('data', chunk => messages.push(chunk))
  socket.on('error', () => socket.destroy())
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
})
process.on('disconnect', () => process.exit())
