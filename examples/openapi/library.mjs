// The API of this example: a library of two books, on 127.0.0.1:8090.
import { createServer } from 'node:http'

const books = [
  { isbn: '0-306-40615-2', title: 'A book of rivers', dueOn: null },
  { isbn: '0-19-852663-6', title: 'A book of bridges', dueOn: null },
]

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://library')
  const send = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (request.headers['x-library-card'] === undefined) return send(401, { message: 'Show your card.' })
  if (pathname === '/v1/books')
    return send(
      200,
      books.filter(({ title }) => title.includes(searchParams.get('title') ?? '')),
    )
  const book = books.find(({ isbn }) => pathname === `/v1/books/${encodeURIComponent(isbn)}/loans`)
  if (book === undefined) return send(404, { message: 'There is no such book.' })
  if (book.dueOn !== null) return send(409, { message: `Somebody has it until ${book.dueOn}.` })
  let body = ''
  for await (const piece of request) body += piece
  book.dueOn = new Date(Date.now() + JSON.parse(body).days * 86_400_000).toISOString().slice(0, 10)
  return send(201, book)
})

server.listen(Number(process.argv[2] ?? 8090), '127.0.0.1')
