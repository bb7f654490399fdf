/* libcurl as Swift sees it. Its setters take any type, which the importer cannot call: each gets a typed twin here. */
#ifndef SALLYPORT_CCURL_H
#define SALLYPORT_CCURL_H

#include <curl/curl.h>

static inline int sallyport_curl_set_text(CURL *easy, CURLoption option, const char *value)
{
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static inline int sallyport_curl_set_number(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static inline int sallyport_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value)
{
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

/* Both receive (bytes, 1, count, context) and return how many they took; fewer ends the transfer. */
static inline int sallyport_curl_set_receivers(CURL *easy, curl_write_callback on_field, curl_write_callback on_body,
                                               void *context)
{
    return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_field) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, context) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, context) == CURLE_OK;
}

static inline long sallyport_curl_status(CURL *easy)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Microseconds from the start to the last byte. */
static inline long long sallyport_curl_duration(CURL *easy)
{
    curl_off_t duration = 0;
    curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &duration);
    return duration;
}

static inline int sallyport_curl_set_drivers(CURLM *multi, curl_socket_callback on_socket,
                                             curl_multi_timer_callback on_timer, void *context)
{
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context) == CURLM_OK;
}

/* The next transfer that has ended, with its result; NULL when there is none. */
static inline CURL *sallyport_curl_next_ended(CURLM *multi, CURLcode *result)
{
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

#endif
