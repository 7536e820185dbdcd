"""One module an API: `handle(request, call)` gives the answer, or None when `call.answer` is going to be called;
`refuse(request, error_code)` is the API's answer when something unforeseen came in between."""
