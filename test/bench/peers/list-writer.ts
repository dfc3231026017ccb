/** Yardstick: writes a list that it has, with the id around it. `list-writer.ts <url of the server that has it>`; prints its URL. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const ID = /"id":(\d+)/
const ASK = { method: 'POST', headers: { 'content-type': 'application/json' } }
const asked = await fetch(process.argv[2] ?? '', {
  ...ASK,
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
})
const text = await asked.text()
const list = Buffer.from(text.slice(text.indexOf(',"result":')))

const server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
  let body = ''
  request.setEncoding('latin1')
  request.on('data', (more: string) => (body += more))
  request.on('end', () => {
    const id = ID.exec(body)?.[1]
    if (id === undefined) return response.writeHead(202, { 'content-length': 0 }).end()
    const head = `{"jsonrpc":"2.0","id":${id}`
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': head.length + list.length,
      'mcp-session-id': 'bench',
    })
    response.write(head)
    return response.end(list)
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
})
process.on('disconnect', () => process.exit())
